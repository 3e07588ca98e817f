import hashlib
import http.server
import json
import socket
import ssl
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from filelock import FileLock

from recdemo.dataset import download, open_dataset
from recdemo.dataset.download import Published, fetch, fetched, locate
from recdemo.errors import DatasetError, StoreError
from recdemo.settings import settings
from tests.test_movielens import CSV, DAT, copy, real, zipped

HERE = Path(__file__).parent / "data"
BY_HAND = "'recdemo dataset fetch ml-1m --from PATH'"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep what is fetched in a folder of the test, and let no proxy come between."""
    monkeypatch.setenv("RECDEMO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    settings.cache_clear()
    yield tmp_path / "home"
    settings.cache_clear()


@dataclass
class Server:
    """Answers every request alike."""

    address: str = ""
    body: bytes = b""
    status: int = 200
    length: int | None = None  # what it claims to send
    requests: list[str] = field(default_factory=list)


def serve(server: Server, context: ssl.SSLContext | None = None) -> http.server.HTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requests.append(self.path)
            self.send_response(server.status)
            length = len(server.body) if server.length is None else server.length
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(server.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
    scheme = "http" if context is None else "https"
    server.address = f"{scheme}://127.0.0.1:{listener.server_port}/ml-1m.zip"
    threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
    return listener


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Serve the tiny data as ml-1m, with its checksum and counts as published."""
    server = Server(body=zipped(DAT, tmp_path / "served.zip", "ml-1m/").read_bytes())
    listener = serve(server)
    publish(monkeypatch, server.address, hashlib.md5(server.body).hexdigest())
    yield server
    listener.shutdown()
    listener.server_close()


def publish(monkeypatch: pytest.MonkeyPatch, address: str, md5: str | None) -> None:
    monkeypatch.setitem(download.PUBLISHED, "ml-1m", Published("ml-1m", address, md5, 5, 6, 10))


def left_in(home: Path) -> list[str]:
    folder = home / "datasets"
    return sorted(file.name for file in folder.iterdir() if file.suffix != ".lock")


def error_of(action: Callable[[], object]) -> str:
    with pytest.raises((DatasetError, StoreError)) as error:
        action()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_download_lands_in_its_folder_with_a_report(server: Server, home: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = fetch("ml-1m", on_progress=lambda done, total: seen.append((done, total)))
    assert report.how == "downloaded"
    assert (report.n_items, report.n_users, report.n_interactions) == (5, 6, 10)
    assert report.folder == fetched("ml-1m") == home / "datasets" / "ml-1m"
    assert seen[-1] == (len(server.body), len(server.body))
    assert left_in(home) == ["ml-1m"]
    kept = sorted(file.name for file in report.folder.iterdir())
    assert kept == ["fetched.json", "movies.dat", "ratings.dat"]
    assert json.loads((report.folder / "fetched.json").read_text())["source"] == server.address


def test_what_is_there_is_not_fetched_again_unless_forced(server: Server) -> None:
    first = fetch("ml-1m")
    again = fetch("ml-1m")
    assert len(server.requests) == 1
    assert again == replace(first, new=False)
    fetch("ml-1m", force=True)
    assert len(server.requests) == 2


def test_a_file_that_changed_since_it_was_fetched_is_noticed(server: Server) -> None:
    folder = fetch("ml-1m").folder
    (folder / "ratings.dat").write_bytes(b"1::1::5::10\n")
    assert "ratings.dat is not as it was fetched" in error_of(lambda: fetch("ml-1m"))
    assert fetch("ml-1m", force=True).n_interactions == 10
    (folder / "fetched.json").write_text("{")
    assert "fetch ml-1m --force'" in error_of(lambda: fetch("ml-1m"))


def test_a_wrong_checksum_is_an_error_and_leaves_nothing(server: Server, home: Path) -> None:
    server.body += b"x"
    message = error_of(lambda: fetch("ml-1m"))
    assert server.address in message
    assert "the checksum of what came is not" in message
    assert BY_HAND in message
    assert left_in(home) == []


@pytest.mark.parametrize(("status", "reason"), [(404, "404 Not Found"), (503, "503 Service")])
def test_an_http_error_is_one_line_with_the_way_by_hand(
    status: int, reason: str, server: Server, home: Path
) -> None:
    server.status = status
    message = error_of(lambda: fetch("ml-1m"))
    assert f"cannot fetch {server.address}: the server answers {reason}" in message
    assert BY_HAND in message
    assert left_in(home) == []


def test_a_download_that_breaks_off_is_an_error(server: Server, home: Path) -> None:
    server.length = len(server.body) + 100
    assert "100 more expected" in error_of(lambda: fetch("ml-1m"))
    assert left_in(home) == []


def test_a_refused_connection_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]  # free again below, nobody listens
    publish(monkeypatch, f"http://127.0.0.1:{port}/ml-1m.zip", None)
    message = error_of(lambda: fetch("ml-1m"))
    assert f"cannot fetch http://127.0.0.1:{port}/ml-1m.zip: Connection refused; " in message
    assert BY_HAND in message


def test_an_expired_certificate_is_said_plainly_and_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certificate = HERE / "expired-certificate.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = Server()
    listener = serve(server, context)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))  # trusted, but for its date
    publish(monkeypatch, server.address, None)
    message = error_of(lambda: fetch("ml-1m"))
    assert "its certificate cannot be trusted (certificate has expired)" in message
    assert BY_HAND in message
    assert server.requests == []
    listener.shutdown()
    listener.server_close()


def test_a_zip_without_a_published_checksum_has_to_be_whole(
    server: Server, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    publish(monkeypatch, server.address, None)
    server.body = server.body[:-40]
    message = error_of(lambda: fetch("ml-1m"))
    assert f"cannot use {server.address}: cannot read ml-1m.zip: File is not a zip" in message
    assert BY_HAND in message
    assert left_in(home) == []


def test_a_local_zip_is_taken_and_one_with_another_checksum_is_called_repacked(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "same.zip").write_bytes(server.body)
    assert fetch("ml-1m", tmp_path / "same.zip").how == "from a zip"
    other = zipped(DAT, tmp_path / "other.zip")
    assert fetch("ml-1m", other, force=True).how == "from a repacked zip"
    assert server.requests == []


def test_a_folder_is_taken_with_its_readme_and_without_the_rest(
    server: Server, tmp_path: Path
) -> None:
    source = copy(DAT, tmp_path, users_dat=b"1::F::1\n", README=b"terms")
    report = fetch("ml-1m", source)
    assert report.how == "from a folder"
    kept = sorted(file.name for file in report.folder.iterdir())
    assert kept == ["README", "fetched.json", "movies.dat", "ratings.dat"]
    assert fetch("ml-1m", report.folder, force=True).n_items == 5  # even from itself


def test_other_counts_than_published_are_an_error(
    server: Server, tmp_path: Path, home: Path
) -> None:
    source = copy(DAT, tmp_path, ratings_dat=b"1::1::5::10\n")
    assert error_of(lambda: fetch("ml-1m", source)) == (
        f"{source} is not ml-1m as published: it has 5 movies, 1 users and 1 ratings; "
        "expected 5 movies, 6 users and 10 ratings"
    )
    assert left_in(home) == []


def test_a_fault_in_a_local_file_names_that_file_and_keeps_what_was_there(
    server: Server, tmp_path: Path
) -> None:
    fetch("ml-1m")
    source = copy(DAT, tmp_path, ratings_dat=b"1::1::5::10\n1::3\n")
    message = error_of(lambda: fetch("ml-1m", source, force=True))
    assert message.startswith(f"{source}/ratings.dat, line 2: ")
    assert fetch("ml-1m").n_interactions == 10


@pytest.mark.parametrize(
    "name", ["../evil.txt", "ml-1m/../../evil.txt", "/evil.txt", "..\\evil.txt", "C:\\evil.txt"]
)
def test_a_zip_that_reaches_outside_is_refused_whole(
    name: str, server: Server, tmp_path: Path, home: Path
) -> None:
    bad = zipped(DAT, tmp_path / "bad.zip")
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr(zipfile.ZipInfo(name), "evil")
    assert "would land outside" in error_of(lambda: fetch("ml-1m", bad))
    assert left_in(home) == []
    assert not list(tmp_path.rglob("evil*"))


def test_a_link_in_a_zip_is_refused(server: Server, tmp_path: Path, home: Path) -> None:
    bad = zipped(DAT, tmp_path / "bad.zip")
    link = zipfile.ZipInfo("README")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "'README', which would land outside" in error_of(lambda: fetch("ml-1m", bad))
    assert left_in(home) == []


def test_leftovers_of_a_killed_fetch_are_removed(server: Server, home: Path) -> None:
    leftover = home / "datasets" / ".ml-1m.part-dead"
    leftover.mkdir(parents=True)
    (leftover / "ml-1m.zip").write_bytes(b"half")
    assert fetched("ml-1m") is None
    fetch("ml-1m")
    assert left_in(home) == ["ml-1m"]


def test_ctrl_c_while_downloading_leaves_nothing(server: Server, home: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("ml-1m", on_progress=interrupt)
    assert left_in(home) == []


def test_two_fetches_of_the_same_do_not_meet(server: Server, home: Path) -> None:
    (home / "datasets").mkdir(parents=True)
    with FileLock(home / "datasets" / ".ml-1m.lock"):
        started = time.monotonic()
        assert "another recdemo fetches ml-1m" in error_of(lambda: fetch("ml-1m"))
        assert time.monotonic() - started < 5


def test_a_home_that_cannot_be_written_is_a_store_error(server: Server, home: Path) -> None:
    home.write_text("a file, not a folder")
    with pytest.raises(StoreError, match=r"cannot write .*home.*set RECDEMO_HOME"):
        fetch("ml-1m")


def test_unknown_names_and_missing_sources_are_errors(tmp_path: Path, home: Path) -> None:
    assert "cannot fetch 'ml-2m'; expected one of ml-1m," in error_of(lambda: fetch("ml-2m"))
    assert not home.exists()
    missing = tmp_path / "none.zip"
    assert error_of(lambda: fetch("ml-1m", missing)) == f"{missing} does not exist"


def test_a_fetched_data_set_opens_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "get it with 'recdemo dataset fetch ml-latest-small'" in error_of(
        lambda: open_dataset("ml-latest-small")
    )
    fetch("ml-latest-small", CSV)
    data = open_dataset("ml-latest-small")
    assert (data.name, len(data), data.n_users) == ("ml-latest-small", 5, 6)
    assert fetched("../datasets/ml-latest-small") is None


def test_a_path_goes_before_a_name_that_was_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch("ml-latest-small", CSV)
    monkeypatch.chdir(tmp_path)
    assert locate("ml-latest-small") == fetched("ml-latest-small")
    (tmp_path / "ml-latest-small").mkdir()
    assert locate("ml-latest-small") == Path("ml-latest-small")
    assert "no data set 'nothing'" in error_of(lambda: locate("nothing"))


def test_a_repacked_movielens_1m_is_accepted_for_its_counts() -> None:
    report = fetch("ml-1m", real("ml-1m.zip"))
    assert report.how == "from a repacked zip"
    assert (report.n_items, report.n_users, report.n_interactions) == (3883, 6040, 1_000_209)
    assert len(open_dataset("ml-1m").interactions()) == 1_000_209
