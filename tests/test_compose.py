"""The Compose file, as text; and as Compose reads it, where there is Compose."""

import json
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest
import yaml

from recdemo.store.connection import QDRANT_IMAGE

FILE = Path(__file__).parents[1] / "docker-compose.yml"
TEXT = FILE.read_text(encoding="utf-8")


def test_images_are_pinned_and_that_of_qdrant_is_the_one_the_code_names() -> None:
    images = re.findall(r"^ *image: (\S+)", TEXT, re.M)
    assert QDRANT_IMAGE in images
    assert [image for image in images if image.startswith("qdrant/")] == [QDRANT_IMAGE]
    assert all(re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+", image) for image in images)


def test_all_ports_are_of_this_machine_only() -> None:
    ports = re.findall(r"^ *- (\S+:\d+:\d+|\d+:\d+)", TEXT, re.M)
    assert len(ports) >= 6
    assert all(port.startswith("127.0.0.1:") for port in ports)


def health_check(port: int) -> list[str]:
    """The command of the file, against another port, without Compose's escape."""
    script = re.search(r'^ *- "(exec 3<>.*)"$', TEXT, re.M)
    assert script is not None
    plain = json.loads(f'"{script[1]}"').replace("$$", "$").replace("6333", str(port))
    return ["timeout", "2", "bash", "-c", plain]


@pytest.mark.parametrize(("status", "healthy"), [("200 OK", True), ("503 Busy", False)])
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_health_check_goes_by_the_status_of_readyz(status: str, healthy: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        asked: list[bytes] = []

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                with connection.makefile("rb") as lines:  # bash sends them one by one
                    asked.extend(iter(lines.readline, b"\r\n"))
                connection.sendall(f"HTTP/1.1 {status}\r\n\r\nall shards are ready".encode())

        thread = threading.Thread(target=answer)
        thread.start()
        done = subprocess.run(health_check(listening.getsockname()[1]), check=False)
        thread.join()
    assert (done.returncode == 0) is healthy
    assert asked[0] == b"GET /readyz HTTP/1.0\r\n"


def compose() -> list[str]:
    """The command that runs Compose: the plugin of Docker, or the program of its own."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is not None:
            version = subprocess.run([*command, "version"], capture_output=True, check=False)
            if version.returncode == 0:
                return command
    pytest.skip("there is no Docker Compose")


def test_compose_reads_the_file() -> None:
    profiles = ("--profile", "ollama", "--profile", "cluster")
    done = subprocess.run(
        [*compose(), "-f", str(FILE), *profiles, "config"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert set(services) == {"qdrant", "ollama", "cluster-1", "cluster-2", "cluster-3"}
    assert services["qdrant"]["image"] == QDRANT_IMAGE
    assert services["qdrant"]["ulimits"]["nofile"] == {"soft": 65535, "hard": 65535}
    assert services["ollama"]["profiles"] == ["ollama"]
    for name in ("cluster-1", "cluster-2", "cluster-3"):
        assert services[name]["profiles"] == ["cluster"]
        assert services[name]["environment"]["QDRANT__CLUSTER__ENABLED"] == "true"
