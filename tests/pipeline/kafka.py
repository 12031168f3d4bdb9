"""A real Kafka of one process, in KRaft mode, from jars that Maven fetches once."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from semcast.pipeline.java import find_java

KAFKA = "3.9.1"
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # for a JVM that lives for seconds
CACHE = Path(__file__).parents[2] / "build" / "kafka"
_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version>
<dependencies>{}</dependencies></project>"""
_ONE = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""
_WHOLE = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=3
"""


def jars(name: str, *poms: str) -> list[Path]:
    """Jars of the first of these poms that can be had; the test is skipped where none can."""
    folder = CACHE / name
    if not (folder / "done").exists():
        maven = shutil.which("mvn")
        if maven is None:
            pytest.skip("Kafka's jars cannot be had: there is no mvn to fetch them")
        said = ""
        for pom in poms:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / "pom.xml").write_text(_POM.format(pom))
            command = [
                maven,
                "-q",
                "-B",
                "dependency:copy-dependencies",
                "-DoutputDirectory=.",
                "-DincludeScope=runtime",
            ]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200)
            if done.returncode == 0:
                (folder / "done").touch()
                break
            said = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stdout[-300:])
        else:
            pytest.skip(f"{name} cannot be had: {said}")
    return sorted(folder.glob("*.jar"))


def server_jars() -> list[Path]:
    return jars(f"server-{KAFKA}", _WHOLE.format("org.apache.kafka", "kafka_2.13", KAFKA))


def connector_jars() -> list[Path]:
    """Spark's own connector, of the version that runs here; where that is not to be had, one that works with it."""
    version = pyspark.__version__
    ways = [(version, version), ("4.2.0", "4.2.0"), ("4.2.0", "4.0.0")]
    return jars(f"connector-{version}", *(_connector(*way) for way in ways))


def _connector(connector: str, tokens: str) -> str:
    parts = [
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", tokens),
        ("org.apache.kafka", "kafka-clients", KAFKA),
        ("org.apache.commons", "commons-pool2", "2.12.0"),
    ]
    return "".join(_ONE.format(*part) for part in parts)


class Kafka:
    def __init__(self, address: str, classpath: str, java: str) -> None:
        self.address = address
        self._classpath, self._java = classpath, java

    def produce(self, topic: str, lines: Iterable[str]) -> None:
        """Returns when all are acknowledged."""
        command = [self._java, *_QUICK, "-cp", self._classpath, "kafka.tools.ConsoleProducer"]
        options = ["--bootstrap-server", self.address, "--topic", topic, "--producer-property", "acks=all"]
        subprocess.run([*command, *options], input="\n".join(lines), text=True, check=True, capture_output=True)


@contextmanager
def kafka(folder: Path) -> Iterator[Kafka]:
    """A broker that is its own controller, until the block ends."""
    classpath = ":".join(map(str, server_jars()))
    java = str(find_java().home / "bin" / "java")
    port, controller = _free(), _free()
    properties = folder / "server.properties"
    properties.write_text(_PROPERTIES.format(port=port, controller=controller, logs=folder / "kafka"))
    format_ = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(properties)]
    subprocess.run([java, *_QUICK, "-cp", classpath, *format_], check=True, capture_output=True)
    with (folder / "kafka.log").open("wb") as log:
        command = [java, "-Xmx512m", *_QUICK, "-cp", classpath, "kafka.Kafka", str(properties)]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        _listening(port, process)
        yield Kafka(f"127.0.0.1:{port}", classpath, java)
    finally:
        process.terminate()
        process.wait(120)


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listening(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 240
    while time.monotonic() < end:
        assert process.poll() is None, "Kafka ended"
        with socket.socket() as found:
            if found.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("Kafka does not listen")
