"""Where people come from and are sent: only hosts that are named, and only ids that their platform documents."""

from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from pydantic import ValidationError

from console.studies.design.platforms import PLATFORMS
from console.studies.design.recruiting import Bonus, Recruiting, outside_id_in
from tests.fakes.recruiting import recruiting

SONA = "https://school.sona-systems.com/webstudy_credit.aspx?experiment_id=1&credit_token=2&survey_code={outside_id}"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"platform": "prolific", "completion_url": "https://evil.example/?cc=1"}, "evil.example, is not allowed"),
        ({"platform": "prolific", "completion_url": "https://app.prolific.com@evil.example/"}, "an https address"),
        ({"platform": "prolific", "completion_url": "http://app.prolific.com/"}, "an https address"),
        ({"platform": "prolific", "completion_url": "javascript:alert(1)"}, "an https address"),
        ({"platform": "prolific", "completion_url": "https://{code}.prolific.com/"}, "Add the host to `hosts`"),
        ({"platform": "sona", "completion_url": SONA}, "school.sona-systems.com, is not allowed"),
        ({"platform": "clickworker"}, "must be mturk, prolific, sona or left out"),
    ],
)
def test_nobody_is_sent_where_the_design_does_not_say(fields, said):
    with pytest.raises(ValidationError) as refused:
        Recruiting(**fields)
    assert said in str(refused.value)


def test_the_way_back_holds_what_the_platform_asks_for_and_nothing_where_it_is_not_known():
    prolific = Recruiting(platform="prolific", completion_url="https://app.prolific.com/submissions/complete?cc=C1")
    assert prolific.way_back(prolific.completion_url, "", "ABC") == prolific.completion_url
    sona = Recruiting(platform="sona", completion_url=SONA, hosts=("school.sona-systems.com",))
    assert sona.way_back(SONA, "48&x=1", "").endswith("survey_code=48%26x%3D1")
    assert sona.way_back(SONA, "", "") is None


def test_a_sign_up_of_sona_is_credited_by_its_own_survey_code_alone():
    with recruiting() as platform:
        came = dict(parse_qsl(urlsplit(platform.from_sona("http://console.example/participate?join=A", "4817")).query))
        stated = Recruiting(platform="sona", completion_url=platform.sona_url(), hosts=("127.0.0.1",))
        for outside_id in (outside_id_in(PLATFORMS["sona"], came), "9999"):
            httpx.get(stated.way_back(stated.completion_url, outside_id, "ABC"))
        assert platform.credited == ["4817"]
        assert [query["survey_code"] for _, query in platform.refused] == ["9999"]


@pytest.mark.parametrize(
    ("platform", "given", "expected"),
    [
        ("prolific", {"PROLIFIC_PID": "5f1", "STUDY_ID": "s", "SESSION_ID": "t"}, "5f1"),
        ("sona", {"id": " 4817 "}, "4817"),
        ("prolific", {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}", "STUDY_ID": "s"}, ""),
        ("sona", {"id": "%SURVEY_CODE%"}, ""),
        ("mturk", {"workerId": "AZ3", "assignmentId": "123", "hitId": "9"}, "AZ3"),
        ("mturk", {"workerId": "AZ3", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, ""),
        ("prolific", {}, ""),
    ],
)
def test_the_id_is_the_one_that_the_platform_documents(platform, given, expected):
    assert outside_id_in(PLATFORMS[platform], given) == expected


def test_the_bonus_is_exact_money():
    bonus = Bonus(per_right=Decimal("0.035"), most=Decimal("0.4"))
    assert [str(bonus.of(right, False)) for right in (0, 1, 3, 50)] == ["0.00", "0.04", "0.11", "0.40"]
    assert str(bonus.of(3, True)) == "0.00"
    assert str(Bonus(per_right=Decimal("0.1"), if_excluded=True).of(3, True)) == "0.30"
