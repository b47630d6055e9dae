"""Control (c): Python's sqlite3 and json, and PyArrow that writes events.

    control_c.py HOMES OUT

Writes the table events alone, in row groups as gander's: 122,880 rows or 64 MiB
of text.
"""

import base64
import hashlib
import json
import sqlite3
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([
    ("event_id", pa.string()), ("session_id", pa.string()), ("message_row", pa.int64()), ("message_id", pa.string()), ("role", pa.string()),
    ("block_index", pa.int64()), ("occurred_at", pa.timestamp("us")), ("kind", pa.string()), ("text", pa.string()), ("tool_use_id", pa.string()),
    ("tool_name", pa.string()), ("status", pa.string()), ("is_error", pa.bool_()), ("mime_type", pa.string()), ("data_bytes", pa.int64()),
    ("data_sha256", pa.string()), ("user_visible", pa.bool_()), ("agent_visible", pa.bool_()), ("provider", pa.string()), ("model", pa.string()),
    ("extra", pa.string()),
])
GROUP_ROWS, GROUP_BYTES = 122_880, 64 << 20


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def events(db: sqlite3.Connection):
    tools: dict[str, str] = {}
    for row, message_id, session, role, content, created, metadata in db.execute(
        "SELECT id, message_id, session_id, role, content_json, created_timestamp, metadata_json FROM messages ORDER BY session_id, id"
    ):
        meta = json.loads(metadata) if metadata else {}
        at = created * (1000 if created > 10_000_000_000 else 1_000_000)
        inference = meta.get("inference") or {}
        for i, block in enumerate(json.loads(content)):
            kind = block["type"]
            text = name = status = is_error = mime = size = sha = None
            extra = {"_meta": block["_meta"]} if "_meta" in block else {}
            if kind == "text":
                text = block["text"]
            elif kind == "thinking":
                text = block["thinking"]
            elif kind == "toolRequest":
                call = block["toolCall"]["value"]
                name, text = call["name"], compact(call.get("arguments"))
                tools[block["id"]] = name
            elif kind == "toolResponse":
                result = block["toolResult"]
                status, name = result["status"], tools.get(block["id"])
                value = result.get("value")
                if value is None:
                    text = result.get("error")
                else:
                    text = "\n".join(c.get("text", "") for c in value["content"])
                    is_error = value.get("isError")
                    if "structuredContent" in value:
                        extra["structured_content"] = value["structuredContent"]
            elif kind == "image":
                data = base64.b64decode(block["data"])
                mime, size, sha = block["mimeType"], len(data), hashlib.sha256(data).hexdigest()
                text = "[image] " + mime
            else:
                text = compact(block)
            yield (
                hashlib.md5(f"{session}:{row}:{i}".encode()).hexdigest(), session, row, message_id, role, i, at, kind, text, block.get("id"), name,
                status, is_error, mime, size, sha, meta.get("userVisible"), meta.get("agentVisible"), inference.get("provider"),
                inference.get("requestedModel"), compact(extra) if extra else None,
            )


def main(homes: str, out: str) -> None:
    written = 0
    for n, path in enumerate(sorted(Path(homes).rglob("sessions.db"))):
        folder = Path(out) / f"{n:05d}"
        folder.mkdir(parents=True)
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        with pq.ParquetWriter(folder / "events.parquet", SCHEMA, compression="zstd") as writer:
            rows, size = [], 0

            def flush() -> None:
                if rows:
                    columns = [pa.array(values, type=field.type) for values, field in zip(zip(*rows), SCHEMA)]
                    writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), row_group_size=GROUP_ROWS)

            for row in events(db):
                rows.append(row)
                written += 1
                size += len(row[8] or "") + len(row[20] or "") + 100
                if len(rows) >= GROUP_ROWS or size >= GROUP_BYTES:
                    flush()
                    rows, size = [], 0
            flush()
        db.close()
    print(json.dumps({"events": written}))


main(sys.argv[1], sys.argv[2])
