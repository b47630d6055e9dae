"""Control (a): Python's sqlite3 and json read every message and write nothing.

    control_a.py HOMES

Reads the messages, sessions and usage_ledger of each sessions.db below HOMES,
parses content_json and metadata_json, looks at every block and keeps none.
Prints what it saw as JSON.
"""

import json
import sqlite3
import sys
from pathlib import Path


def main(homes: str) -> None:
    messages = blocks = size = 0
    for path in sorted(Path(homes).rglob("sessions.db")):
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        for row in db.execute(
            "SELECT id, message_id, session_id, role, content_json, created_timestamp, timestamp, metadata_json"
            " FROM messages ORDER BY session_id, id"
        ):
            content = json.loads(row[4])
            if row[7]:
                json.loads(row[7])
            messages += 1
            for block in content:
                blocks += 1
                size += len(block["type"])
        for _ in db.execute("SELECT * FROM sessions"):
            pass
        for _ in db.execute("SELECT * FROM usage_ledger"):
            pass
        db.close()
    print(json.dumps({"messages": messages, "events": blocks}))


main(sys.argv[1])
