"""Histograms of trials."""

import numpy as np
import pytest

from foldless.inspection import HistogramDisplay

ERRORS = {"LE1": [3.1, 5.2, 5.9, 12.0], "Span": [4.0, 4.6, 4.9]}


def test_every_trial_is_in_the_bin_that_holds_it():
    display = HistogramDisplay(ERRORS)
    np.testing.assert_array_equal(display.edges, [2, 4, 6, 8, 10, 12, 14])
    np.testing.assert_array_equal(display.counts("LE1"), [1, 2, 0, 0, 0, 1])
    np.testing.assert_array_equal(display.counts("Span"), [0, 3, 0, 0, 0, 0])


def test_the_bars_are_the_counts():
    pytest.importorskip("matplotlib").use("Agg")
    display = HistogramDisplay(ERRORS, width=4.0).plot("Pima")
    drawn = [[bar.get_height() for bar in ax.patches] for ax in display.axes_]
    assert drawn == [display.counts("LE1").tolist(), display.counts("Span").tolist()]
    assert [ax.get_ylabel() for ax in display.axes_] == list(ERRORS)
    assert display.figure_.get_suptitle() == "Pima"
    display.figure_.clear()
