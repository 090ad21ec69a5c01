"""The demo, with a backend that compiles fast."""

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"


def test_the_demo_captures_the_whole_encoder_and_agrees_with_eager():
    command = [sys.executable, DEMO / "demo.py", "--backend", "aot_eager", "--repeats", "1", "--steps", "5"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = dict(line.split() for line in result.stdout.splitlines() if line.startswith(("  graphs ", "  breaks ")))
    assert rows == {"graphs": "1", "breaks": "0"}, result.stdout
    assert result.stdout.count(" ok ") == 3, result.stdout
    assert result.stderr == ""


def test_the_sentences_are_many_and_distinct():
    rows = [line.split("\t") for line in (DEMO / "sentences.txt").read_text(encoding="utf-8").splitlines()]
    sentences = [sentence for _, sentence in rows]
    assert len(set(sentences)) == len(sentences) >= 100
    assert len({topic for topic, _ in rows}) == 10
