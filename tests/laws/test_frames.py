"""How deep `fit` is when the first kernel value is computed: every frame is a page a reader has to turn."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from sklearn.svm import SVC

import foldless
from foldless import KernelLogisticRegression, KernelSearch
from foldless.datasets import make_ripley
from foldless.kernels import stationary

SOURCE = str(Path(foldless.__file__).parent)


def path_to_the_kernel(call: Callable[[], object]) -> list[str]:
    """Our own functions on the stack, outermost first, when the RBF kernel's registered function runs first."""
    found: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and not found and frame.f_code.co_filename == stationary.__file__:
            found.extend(reversed(list(our_frames(frame))))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def our_frames(frame: FrameType | None):
    """The frames of our own code, innermost first, as `file:function`."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(SOURCE):
            yield f"{Path(frame.f_code.co_filename).relative_to(SOURCE)}:{frame.f_code.co_qualname}"
        frame = frame.f_back


@pytest.mark.parametrize(("estimator", "most"), [(KernelLogisticRegression(), 17), (KernelSearch(SVC()), 20)])
def test_fit_is_a_short_walk_from_the_kernel(estimator, most):
    X, y = make_ripley(60, random_state=0)
    path = path_to_the_kernel(lambda: estimator.fit(X, y))
    assert path
    assert len(path) <= most, "\n".join([f"{len(path)} frames, at most {most}:", *path])
