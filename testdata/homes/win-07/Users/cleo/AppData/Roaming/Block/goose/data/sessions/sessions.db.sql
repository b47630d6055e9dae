-- fixture: checkpoint
-- A Windows home: a gateway session, a call that nothing answered.
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version (version) VALUES (12);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL DEFAULT 'user',
  working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP, provider_name TEXT, model_config_json TEXT, goose_mode TEXT, archived_at TIMESTAMP, project_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
  created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
CREATE INDEX idx_messages_session ON messages(session_id);
INSERT INTO sessions VALUES ('20261001_1', 'telegram/Cleo', '', 'gateway', 'C:\Users\cleo\AppData\Roaming\Block\goose\config\gateway\telegram\4711',
  '2026-10-01 07:00:00', '2026-10-01 07:01:00', 'openai', '{"model_name":"gpt-4o"}', 'smart_approve', '2026-10-02T00:00:00Z', 'p1');
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, timestamp, metadata_json) VALUES
  ('m1', '20261001_1', 'user', '[{"type":"text","text":"  list the disks  "}]', 1790838000, '2026-10-01 07:00:00', NULL),
  ('m2', '20261001_1', 'assistant', '[{"type":"toolRequest","id":"","toolCall":{"status":"error","error":"-32602: no such tool"}},{"type":"toolRequest","id":"","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"wmic"}}}}]', 1790838001, '2026-10-01 07:00:01', NULL);
