"""Control (b): DuckDB extracts the same in SQL, into Parquet.

    control_b.py HOMES OUT

Attaches each sessions.db below HOMES with the SQLite extension and writes
sessions, messages, events, tool_calls and usage with DuckDB's JSON functions.

The extension is not downloaded: the package duckdb-extension-sqlite-scanner
brings the signed file for exactly this version of DuckDB, which is loaded by
its path.
"""

import json
import sys
from pathlib import Path

import duckdb
import duckdb_extension_sqlite_scanner

EXTENSION = Path(duckdb_extension_sqlite_scanner.__file__).parent / "extensions" / f"v{duckdb.__version__}" / "sqlite_scanner.duckdb_extension"

BLOCKS = """
SELECT id, message_id, session_id, role, created_timestamp, metadata_json,
       unnest(range(len(list))) AS block_index, unnest(list) AS block
FROM (SELECT *, content_json::JSON->'$[*]' AS list FROM s.messages)
"""

EVENTS = f"""
SELECT md5(session_id || ':' || id || ':' || block_index) AS event_id,
       session_id, id AS message_row, message_id, role, block_index,
       make_timestamp(created_timestamp * CASE WHEN created_timestamp > 10000000000 THEN 1000 ELSE 1000000 END) AS occurred_at,
       block->>'$.type' AS kind,
       CASE block->>'$.type'
         WHEN 'text' THEN block->>'$.text'
         WHEN 'thinking' THEN block->>'$.thinking'
         WHEN 'toolRequest' THEN (block->'$.toolCall.value.arguments')::VARCHAR
         WHEN 'toolResponse' THEN coalesce(array_to_string(block->>'$.toolResult.value.content[*].text', chr(10)), block->>'$.toolResult.error')
         WHEN 'image' THEN '[image] ' || (block->>'$.mimeType')
         ELSE block::VARCHAR
       END AS text,
       block->>'$.id' AS tool_use_id,
       block->>'$.toolCall.value.name' AS tool_name,
       block->>'$.toolResult.status' AS status,
       (block->>'$.toolResult.value.isError') = 'true' AS is_error,
       block->>'$.mimeType' AS mime_type,
       CASE WHEN block->>'$.type' = 'image' THEN octet_length(from_base64(block->>'$.data')) END AS data_bytes,
       CASE WHEN block->>'$.type' = 'image' THEN sha256(from_base64(block->>'$.data')) END AS data_sha256,
       (metadata_json::JSON->>'$.userVisible') = 'true' AS user_visible,
       (metadata_json::JSON->>'$.agentVisible') = 'true' AS agent_visible,
       metadata_json::JSON->>'$.inference.provider' AS provider,
       metadata_json::JSON->>'$.inference.requestedModel' AS model,
       json_object('_meta', block->'$._meta', 'structured_content', block->'$.toolResult.value.structuredContent')::VARCHAR AS extra
FROM ({BLOCKS})
"""

MESSAGES = """
SELECT id AS message_row, message_id, session_id, role,
       make_timestamp(created_timestamp * CASE WHEN created_timestamp > 10000000000 THEN 1000 ELSE 1000000 END) AS created_at,
       timestamp AS stored_at, json_array_length(content_json) AS block_count,
       (m->>'$.userVisible') = 'true' AS user_visible, (m->>'$.agentVisible') = 'true' AS agent_visible,
       m->>'$.inference.provider' AS provider, m->>'$.inference.requestedModel' AS requested_model,
       (m->>'$.usage.inputTokens')::BIGINT AS input_tokens, (m->>'$.usage.outputTokens')::BIGINT AS output_tokens,
       (m->>'$.usage.totalTokens')::BIGINT AS total_tokens, (m->>'$.usage.cacheReadTokens')::BIGINT AS cache_read_tokens,
       (m->>'$.usage.cost')::DOUBLE AS cost_usd, m->>'$.usage.costSource' AS cost_source, (m->>'$.usage.elapsedMs')::BIGINT AS elapsed_ms
FROM (SELECT *, metadata_json::JSON AS m FROM s.messages)
"""

# From the events just written, as gander pairs what it just parsed.
TOOL_CALLS = """
SELECT q.session_id, q.tool_use_id, q.tool_name, q.text AS arguments, q.occurred_at AS requested_at, r.occurred_at AS responded_at,
       coalesce(r.status, 'no_response') AS status, r.is_error, strlen(r.text) AS result_bytes,
       (r.extra::JSON->>'$.structured_content.exit_code')::BIGINT AS exit_code, q.event_id AS request_event_id, r.event_id AS response_event_id
FROM (SELECT * FROM '{events}' WHERE kind = 'toolRequest') q
LEFT JOIN (SELECT * FROM '{events}' WHERE kind = 'toolResponse') r USING (session_id, tool_use_id)
"""


def main(homes: str, out: str) -> None:
    db = duckdb.connect(config={"threads": 2})
    db.execute(f"LOAD '{EXTENSION}'")
    events = 0
    for i, path in enumerate(sorted(Path(homes).rglob("sessions.db"))):
        folder = Path(out) / f"{i:05d}"
        folder.mkdir(parents=True)
        db.execute(f"ATTACH '{path}' AS s (TYPE sqlite, READ_ONLY)")
        for table, query in [
            ("sessions", "SELECT * FROM s.sessions"),
            ("usage", "SELECT * FROM s.usage_ledger"),
            ("messages", MESSAGES),
            ("events", EVENTS),
            ("tool_calls", TOOL_CALLS.replace("{events}", str(folder / "events.parquet"))),
        ]:
            n = db.execute(f"COPY ({query}) TO '{folder / table}.parquet' (FORMAT parquet, COMPRESSION zstd)").fetchone()[0]
            if table == "events":
                events += n
        db.execute("DETACH s")
    print(json.dumps({"events": events}))


main(sys.argv[1], sys.argv[2])
