"""Gram matrices known by what they can do: as an array, as a product of thin factors, or strip by strip."""

from foldless.grams.chunked import ChunkedGram
from foldless.grams.dense import DenseGram
from foldless.grams.low_rank import FeatureGram, LowRankGram
from foldless.grams.spectral_factor import SpectralFactor

__all__ = ["ChunkedGram", "DenseGram", "FeatureGram", "LowRankGram", "SpectralFactor"]
