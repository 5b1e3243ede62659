"""The shelf of detectors."""

import importlib
import pkgutil

import pytest

import console.detection.detectors
from console.detection.detectors import DETECTORS, Detector, detector
from console.errors import Unknown
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

AT = Checkpoint("generic", "do it", "", (), 0, CheckpointKind.ACTION, action="pay[1]")


def test_every_detector_of_a_file_is_registered_under_its_own_name():
    modules = pkgutil.iter_modules(console.detection.detectors.__path__, "console.detection.detectors.")
    defined = {
        one.name
        for module in modules
        for one in vars(importlib.import_module(module.name)).values()
        if isinstance(one, Detector)
    }
    assert defined == set(DETECTORS.built_in)
    assert all(name == found.name for name, found in DETECTORS.items())


def test_an_unknown_detector_is_refused_with_the_known_names():
    with pytest.raises(Unknown, match=r"rules.*random"):
        detector("guess")


def test_full_validation_flags_all_and_random_depends_on_the_seed_alone():
    assert detector("full-validation").judge(AT, 0).score == 1.0
    drawn = [detector("random").judge(AT, seed).score for seed in range(200)]
    assert drawn == [detector("random").judge(AT, seed).score for seed in range(200)]
    assert 0 <= min(drawn) < 0.1
    assert 0.9 < max(drawn) < 1
