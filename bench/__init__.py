"""Measurements behind the tables of README and docs.

* ``problems``: where rows come from (files, generators), and which splits may be shown as evidence;
* ``contenders``: what is fitted, one small class each;
* ``tables``: what is run for a table, and how its records become Markdown;
* ``records``: what was measured, a line of JSON per fit.

``python -m bench --list`` names the tables, ``python -m bench TABLE --data DIR`` measures one,
``python -m bench --write-docs`` writes them into the documents.
"""
