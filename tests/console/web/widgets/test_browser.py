"""Only plain text becomes a cookie; the browser's part is in tests/browser."""

import pytest

from console.errors import BadInput
from console.web.widgets.browser import set_cookie


@pytest.mark.parametrize(("name", "value"), [("sign in", "x"), ("ia", "a;b"), ("ia", "a\nb"), ("ia", ""), ("", "x")])
def test_what_could_break_out_of_a_cookie_is_refused(name, value):
    with pytest.raises(BadInput):
        set_cookie(name, value)
