"""Fuzzes our own routes with their OpenAPI description."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok

from campaign.tools.context import Context

# A query of any words is a valid body, but need not be one that finds a word; unknown keys of others' clients are
# ignored.
_LEFT_OUT = ("positive_data_acceptance", "negative_data_rejection")


def fuzz_described(context: Context, url: str, n_requests: int) -> None:
    """Sends this many requests, spread over all operations, and checks each answer against the description."""
    load_all_checks()
    checks: list[Any] = [check for check in CHECKS.get_all() if check.__name__ not in _LEFT_OUT]
    schema = schemathesis.openapi.from_url(f"{url}/-/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    with_body = [one for one in operations if one.body]
    n_without = 10  # there is little to vary in a GET without parameters
    n_each = max(1, (n_requests - n_without * (len(operations) - len(with_body))) // max(1, len(with_body)))
    for operation in operations:

        @seed(context.seed)
        @settings(
            max_examples=n_each if operation.body else n_without,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case[Any]) -> None:
            context.add("requests by the description")
            try:
                case.call_and_validate(checks=checks)
            except Exception as error:  # all others go on
                what = f"{case.method} {case.path}: {str(error)[:700]}"
                context.check(False, what)
            else:
                context.check(True, "")

        ask()
