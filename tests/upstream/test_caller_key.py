"""By what callers are known whose bags and field types are cached."""

from io import BytesIO

import pytest

from reranker.upstream.incoming import Incoming, caller_key

ONE = [("Authorization", "Basic b25l"), ("X-Opaque-Id", "1")]


def test_nothing_can_be_read_from_a_key_and_neither_case_nor_order_counts() -> None:
    assert caller_key([*ONE, ("Cookie", "a=b")]) == caller_key([("cookie", "a=b"), ("authorization", "Basic b25l")])
    assert b"b25l" not in caller_key(ONE)


# OpenSearch: `jwt_header`, `user_header`, `roles_header`, `attr_header_prefix` and `remoteIpHeader` of authenticators.
# Elasticsearch: run as, and the shared secret of a JWT realm.
@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "Cookie", "X-Auth-Token", "X-Company-User", "X-Company-Roles", "X-Proxy-User"),
        *("X-Proxy-Ext-Department", "X-Forwarded-For", "X-Real-Ip", "opendistro_security_impersonate_as"),
        *("es-security-runas-user", "ES-Client-Authentication", "X-Amzn-Oidc-Data", "Proxy-Authorization"),
        "X-User-Unique-Id",
    ],
)
def test_callers_differ_by_any_header_that_an_engine_may_know_them_by(name: str) -> None:
    assert len({caller_key([*ONE, *more]) for more in ([], [(name, "a")], [(name, "b")])}) == 3


@pytest.mark.parametrize(
    "name",
    [
        *(
            "X-Request-Id",
            "X-Unique-ID",
            "X-Kong-Request-Id",
            "X-Correlation-ID",
            "X-Opaque-Id",
            "traceparent",
            "tracestate",
            "baggage",
        ),
        *("X-B3-TraceId", "b3", "X-Amzn-Trace-Id", "uber-trace-id", "x-datadog-parent-id", "CF-Ray", "X-Request-Start"),
        *("X-Dynatrace", "X-Instana-T", "X-NewRelic-Transaction", "singularityheader", "sw8"),
        *("Accept", "Accept-Encoding", "Content-Type", "Content-Md5", "If-None-Match", "Referer", "User-Agent", "Date"),
    ],
)
def test_a_caller_is_the_same_in_the_next_request(name: str) -> None:
    assert caller_key([*ONE, (name, "a")]) == caller_key([*ONE, (name, "b")]) == caller_key(ONE)


def test_a_search_has_the_key_of_its_headers() -> None:
    environ = {"REQUEST_METHOD": "GET", "HTTP_X_AUTH_TOKEN": "a", "wsgi.input": BytesIO()}
    incoming = Incoming.read(environ, "/pages/_search?q=cat", 100)
    incoming.read_search(100)
    assert incoming.caller == caller_key([("X-Auth-Token", "a")])
