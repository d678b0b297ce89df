"""One machine's AWS: ministack, which performs a deployment and runs the functions that were built."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import boto3
from botocore.config import Config

from templates import ARCHITECTURE, REGION, ROOT

SAM = Path(sys.executable).with_name("sam")
BUILT = ROOT / ".aws-sam" / "build" / "template.yaml"


class Emulator:
    """Runs from when it is made until it is stopped."""

    def __init__(self, python):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.directory = tempfile.TemporaryDirectory(prefix="rehearsal-")
        own = {
            "AWS_ACCESS_KEY_ID": "rehearsal",
            "AWS_SECRET_ACCESS_KEY": "rehearsal",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            "SAM_CLI_TELEMETRY": "0",
        }
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | own
        of_ministack = {
            "LAMBDA_EXECUTOR": "local",
            "GATEWAY_PORT": str(self.port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            "MINISTACK_REGION": REGION,
            "TMPDIR": self.directory.name,
        }
        self.log = open(Path(self.directory.name) / "log", "w+")
        command = [python, "-m", "ministack"]
        environment = self.environment | of_ministack
        self.process = subprocess.Popen(command, cwd=self.directory.name, env=environment, stdout=self.log, stderr=self.log)
        self.wait_until_it_answers()
        self.session = boto3.Session("rehearsal", "rehearsal", region_name=REGION)

    def wait_until_it_answers(self):
        until = time.monotonic() + 120
        while True:
            try:
                return urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5).read()
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"ministack doesn't start: {self.said()}") from error
                time.sleep(0.2)

    def client(self, service):
        patient = Config(read_timeout=120, retries={"max_attempts": 1})
        return self.session.client(service, endpoint_url=self.url, config=patient)

    def sam(self, *arguments):
        done = subprocess.run([SAM, *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def deploy(self, stack, **parameters):
        """What `sam deploy` says. The functions are told where AWS is, and that they were built for this machine."""
        parameters = {"AwsEndpointUrl": self.url, "Architecture": ARCHITECTURE} | parameters
        overrides = [f"{name}={value}" for name, value in parameters.items()]
        given = ["--template-file", BUILT, "--stack-name", stack, "--no-confirm-changeset", "--no-progressbar"]
        code, said = self.sam("deploy", "--config-file", ROOT / "samconfig.toml", "--config-env", "dev", *given, "--parameter-overrides", *overrides)
        if code != 0:
            raise RuntimeError(f"sam deploy ended with {code}:\n{said}\n{self.said()[-4000:]}")
        return said

    def outputs(self, stack):
        described = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}

    def said(self):
        self.log.flush()
        return Path(self.log.name).read_text()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        self.directory.cleanup()
