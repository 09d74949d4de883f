from reranker.upstream.incoming import caller_key


def test_a_caller_is_known_by_the_credentials_alone() -> None:
    one = [("Authorization", "Basic b25l"), ("X-Opaque-Id", "1")]
    assert caller_key(one) == caller_key([("X-Opaque-Id", "2"), ("authorization", "Basic b25l")])
    assert caller_key(one) != caller_key([("Authorization", "Basic dHdv")])
    assert caller_key(one) != caller_key([*one, ("Cookie", "a=b")])
    assert b"b25l" not in caller_key(one)
