"""Reads the exports for training with the loaders of trainers: `datasets`, and the data functions of `trl` where it is installed.

Usage: train_formats.py PROGRAM
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

program = os.path.abspath(sys.argv[1])
fixtures = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "import"
home = tempfile.TemporaryDirectory()
os.environ.update(HF_HOME=home.name, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")

from datasets import Dataset, load_dataset  # noqa: E402  (the folder of its cache is set above)


def loom(*arguments):
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": home.name}
    done = subprocess.run([program, *arguments], cwd=home.name, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def exported(form, *arguments):
    """Exports the tree and loads the file as a trainer does."""
    file = os.path.join(home.name, f"{form}.jsonl")
    loom("export", "Boats", "--format", form, "-o", file, *arguments)
    return load_dataset("json", data_files=file, split="train", cache_dir=os.path.join(home.name, "cache"))


def check_messages(messages):
    assert messages, "a conversation has messages"
    for message in messages:
        assert message["role"] in {"system", "user", "assistant", "tool"}, message
        assert isinstance(message["content"], str) or message["tool_calls"], message


loom("import", str(fixtures / "chatgpt" / "conversations.json"))

chats = exported("openai-chat", "--all-leaves")
assert isinstance(chats, Dataset) and len(chats) >= 2, chats
for row in chats:
    check_messages(row["messages"])
texts = json.dumps(chats.to_list())
assert "A boat." in texts and "A red boat." in texts, texts

pairs = exported("preference")
assert set(pairs.column_names) == {"prompt", "chosen", "rejected"} and len(pairs) >= 1, pairs
for row in pairs:
    for messages in (row["prompt"], row["chosen"], row["rejected"]):
        check_messages(messages)
    assert row["chosen"] != row["rejected"], row

openai_pairs = exported("openai-preference")
for row in openai_pairs:
    check_messages(row["input"]["messages"])
    check_messages(row["preferred_output"])
    check_messages(row["non_preferred_output"])

turns = exported("sharegpt", "--all-leaves")
for row in turns:
    assert row["conversations"], row
    for turn in row["conversations"]:
        assert turn["from"] in {"human", "gpt", "system", "tool"} and isinstance(turn["value"], str), turn

try:
    from trl.data_utils import is_conversational, maybe_convert_to_chatml, unpair_preference_dataset
except ImportError as error:
    print(f"skip  trl is not installed here: {error}")
else:
    assert all(is_conversational(row) for row in chats) and all(is_conversational(row) for row in pairs)
    unpaired = unpair_preference_dataset(pairs)
    assert len(unpaired) == 2 * len(pairs) and sum(unpaired["label"]) == len(pairs), unpaired
    for row in turns:
        check_messages(maybe_convert_to_chatml(row)["messages"])
    print("trl reads them")

print(f"{len(chats)} chats, {len(pairs)} pairs, {len(openai_pairs)} OpenAI pairs, {len(turns)} ShareGPT conversations")
