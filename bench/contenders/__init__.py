"""Contenders, one file each: ``build()`` gives an estimator. Inputs are standardised in all of them."""

from bench.contenders import grid_svc, klr

ALL = {module.NAME: module for module in (klr, grid_svc)}
