"""Gram matrices known by what they can do: as an array, or as a product of thin factors."""

from foldless.grams.dense import DenseGram
from foldless.grams.lowrank import LowRankGram
from foldless.grams.spectral import SpectralFactor

__all__ = ["DenseGram", "LowRankGram", "SpectralFactor"]
