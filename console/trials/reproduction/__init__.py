"""Reproduction of the papers' tables: the runs behind them, and each printed figure beside the measured figure."""
