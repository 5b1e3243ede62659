"""Reproduction of the papers' tables: play what is needed, and put each printed figure beside the measured one."""
