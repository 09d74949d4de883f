"""Settings and where they come from."""

import os

import pytest

from reranker.base.errors import BadInput, WrongParameter
from reranker.service.secrets import warn_of_arguments
from reranker.service.settings import Settings
from reranker.service.settings_sources import load_settings


def write(folder, text):
    path = folder / "sinkrank.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with no setting in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("SINKRANK_"):
            monkeypatch.delenv(name)
    return tmp_path


def test_an_unknown_key_is_an_error_that_names_where_it_stands_and_the_nearest(folder, monkeypatch):
    file = write(folder, "epsilom = 0.1\n")
    with pytest.raises(BadInput, match=r"epsilom \(from sinkrank.toml\) .* did you mean 'epsilon'"):
        load_settings()
    file.unlink()
    with pytest.raises(BadInput, match=r"SINKRANK_DEPHT \(from environment\) .* did you mean 'depth'"):
        load_settings({}, {"SINKRANK_DEPHT": "1"})


def test_variables_of_others_are_left_alone():
    environ = {"PATH": "/bin", "SINKRANK_TEST_ENGINES": "x"}
    assert load_settings({}, environ).settings.port == 8080


def test_a_value_that_does_not_fit_is_told_with_its_origin():
    with pytest.raises(WrongParameter, match=r"setting port \(from environment\): .*; got 'eighty'$"):
        load_settings({}, {"SINKRANK_PORT": "eighty"})
    with pytest.raises(WrongParameter, match=r"setting depth \(from flag\): .*1000; got '100000'$"):
        load_settings({"depth": 100_000}, {})


@pytest.mark.parametrize("name", ["host", "home", "index", "store", "store_password", "api_keys"])
def test_an_empty_value_is_an_error_but_in_a_variable(tmp_path, name):
    file = write(tmp_path, f"{name} = ''")
    with pytest.raises(WrongParameter, match=rf"setting {name} \(from .*sinkrank.toml\) is empty; give a value"):
        load_settings({}, {f"SINKRANK_{name.upper()}": ""}, file)
    with pytest.raises(WrongParameter, match=rf"setting {name} \(from flag\) is empty; give a value"):
        load_settings({name: ""}, {f"SINKRANK_{name.upper()}": "x"})
    assert load_settings({name: "x"}, {}, file).origins[name] == "flag"


@pytest.mark.parametrize("name", ["store", "store_password", "store_api_key"])
def test_what_may_hold_a_password_is_not_told(name):
    with pytest.raises(WrongParameter, match=f"setting {name}") as caught:
        load_settings({name: {"https://me:hunter2@host": 1}}, {})
    assert "hunter2" not in str(caught.value)


def test_a_broken_file_and_a_missing_named_file_are_errors(tmp_path):
    with pytest.raises(BadInput, match="not valid TOML"):
        load_settings({}, {}, write(tmp_path, "port = = 1"))
    with pytest.raises(WrongParameter, match=r"cannot be read \(Is a directory\); name another"):
        load_settings({}, {}, tmp_path)
    with pytest.raises(BadInput, match="no settings file"):
        load_settings({}, {}, tmp_path / "none.toml")


def test_a_settings_file_may_begin_with_a_byte_order_mark_as_windows_writes_it(tmp_path):
    assert load_settings({}, {}, write(tmp_path, "\ufeffport = 9000")).settings.port == 9000


def test_a_list_in_the_environment_is_parted_by_commas():
    environ = {"SINKRANK_PROXY_TEXT_FIELDS": "title,body", "SINKRANK_STORE": "opensearch://a,b"}
    settings = load_settings({}, environ).settings
    assert settings.proxy_text_fields == ("title", "body")
    spaced = load_settings({}, environ | {"SINKRANK_PROXY_TEXT_FIELDS": " title, body,"}).settings
    assert spaced.proxy_text_fields == ("title", "body")
    assert settings.store == "opensearch://a,b"


def test_the_store_and_the_embeddings_lie_under_home_unless_said():
    settings = load_settings({}, {"SINKRANK_HOME": "h"}).settings
    assert (str(settings.embeddings_path), settings.store_address) == ("h/embeddings", "h/store")


def test_several_processes_share_the_cores(monkeypatch):
    monkeypatch.setattr("reranker.service.settings.n_cores", lambda: 8)
    assert [Settings(processes=n).n_threads for n in (1, 2, 4, 16)] == [4, 4, 2, 1]
    assert Settings(processes=4, threads=3).n_threads == 3


@pytest.mark.parametrize(("n_cores", "expected"), [(1, 1), (2, 2), (4, 4), (64, 4)])
def test_a_service_has_a_process_for_each_core_up_to_four(monkeypatch, n_cores, expected):
    monkeypatch.setattr("reranker.service.settings.n_cores", lambda: n_cores)
    assert Settings().n_processes == expected
    assert Settings(processes=7).n_processes == 7


def test_a_system_that_cannot_fork_has_one_process(monkeypatch):
    monkeypatch.setattr("reranker.service.settings.n_cores", lambda: 8)
    monkeypatch.delattr("os.fork", raising=False)
    assert Settings().n_processes == 1


SECRET_FILES = ["store_password", "store_api_key"]


@pytest.mark.parametrize("content", ["hunter2\n", "\ufeffhunter2\r\n"])  # also as Windows writes it
@pytest.mark.parametrize("name", SECRET_FILES)
def test_a_secret_is_read_from_a_file_that_a_setting_names(tmp_path, name, content):
    file = tmp_path / "secret"
    file.write_text(content, encoding="utf-8", newline="")
    file.chmod(0o640)
    for loaded in (
        load_settings({}, {f"SINKRANK_{name.upper()}_FILE": str(file)}),
        load_settings({}, {}, write(tmp_path, f'{name}_file = "{file}"\n')),
    ):
        assert getattr(loaded.settings, name).get_secret_value() == "hunter2"
        assert "hunter2" not in repr(loaded)


def test_a_secret_file_of_the_environment_beats_a_secret_of_the_settings_file_and_the_other_way_round(tmp_path):
    file = tmp_path / "secret"
    file.write_text("of a file")
    file.chmod(0o600)
    config = write(tmp_path, 'store_password = "of the settings"\n')
    loaded = load_settings({}, {"SINKRANK_STORE_PASSWORD_FILE": str(file)}, config)
    assert loaded.settings.store_password.get_secret_value() == "of a file"
    config = write(tmp_path, f'store_password_file = "{file}"\n')
    loaded = load_settings({}, {"SINKRANK_STORE_PASSWORD": "of the environment"}, config)
    assert loaded.settings.store_password.get_secret_value() == "of the environment"
    file.unlink()  # or no right to read it
    loaded = load_settings({}, {"SINKRANK_STORE_PASSWORD": "of the environment"}, config)
    assert loaded.settings.store_password.get_secret_value() == "of the environment"


def test_a_secret_given_twice_in_one_place_is_an_error(tmp_path):
    environ = {"SINKRANK_STORE_PASSWORD": "hunter2", "SINKRANK_STORE_PASSWORD_FILE": str(tmp_path / "secret")}
    with pytest.raises(WrongParameter, match="store_password and store_password_file are both given") as caught:
        load_settings({}, environ)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", None])
def test_a_secret_file_without_a_secret_is_an_error_that_names_the_setting(tmp_path, content):
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(WrongParameter, match=r"store_password_file: .*secret .*name a file that holds the secret"):
        load_settings({}, {"SINKRANK_STORE_PASSWORD_FILE": str(tmp_path / "secret")})


def test_a_secret_file_that_everybody_can_read_gets_a_warning_without_the_secret(tmp_path, caplog):
    file = tmp_path / "secret"
    file.write_text("hunter2")
    file.chmod(0o640)
    load_settings({}, {"SINKRANK_STORE_PASSWORD_FILE": str(file)})
    assert caplog.text == ""
    file.chmod(0o644)
    load_settings({}, {"SINKRANK_STORE_PASSWORD_FILE": str(file)})
    assert f"every user of this machine can read {file}" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "cat", "--store", "https://me:hunter2@host:9200"],
        ["search", "cat", "--store=opensearch://me:hunter2=@host"],
        ["ingest", "--from-index", "http://me:hunter2@old/pages", "--store", "https://me:hunter2@new"],
    ],
)
def test_a_password_in_an_argument_gets_one_warning_without_the_password(arguments, caplog):
    warn_of_arguments(arguments)
    (record,) = caplog.records
    assert "SINKRANK_STORE_PASSWORD_FILE" in record.getMessage()
    assert "hunter2" not in caplog.text


def test_addresses_without_a_password_get_no_warning(caplog):
    warn_of_arguments(["search", "what is http://[x", "--store", "https://me@host:9200", "--store=http://host"])
    assert caplog.text == ""
