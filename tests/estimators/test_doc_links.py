"""The HTML of an estimator links to its page of the manual."""

import pytest
from sklearn.svm import SVC

import foldless
from foldless.estimators.doc_links import DocLinkMixin, address

ESTIMATORS = [name for name in foldless.__all__ if name.startswith("Kernel")]


def made(name):
    return foldless.KernelSearch(SVC()) if name == "KernelSearch" else getattr(foldless, name)()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_links_to_its_page(name, monkeypatch):
    monkeypatch.setattr(DocLinkMixin, "_doc_link_module", "foldless")
    template = "https://manual.example/generated/foldless.{estimator_name}.html"
    monkeypatch.setattr(DocLinkMixin, "_doc_link_template", template)
    assert f'href="https://manual.example/generated/foldless.{name}.html"' in made(name)._repr_html_()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_without_an_address_there_is_no_link(name, monkeypatch):
    monkeypatch.setattr(DocLinkMixin, "_doc_link_module", "")
    assert address([], "Documentation") == ""
    # scikit-learn links the parameters of its own estimators.
    assert "/generated/foldless" not in made(name)._repr_html_()
