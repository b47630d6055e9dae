-- A database of early releases after its first migrations: no WAL, columns in
-- the order in which they were added, no message ids, no ledger.
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version (version) VALUES (1), (2), (3), (4), (5);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, description TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER,
  output_tokens INTEGER, accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
  schedule_id TEXT, recipe_json TEXT, user_recipe_values_json TEXT, name TEXT, user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT, tenant TEXT);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
  created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
INSERT INTO sessions (id, description, working_dir, created_at, updated_at, session_type, tenant) VALUES
  ('20250901_100000', 'First steps', '', '2025-09-01T10:00:00.250+02:00', '2025-09-01 08:05:00', 'specialist', 'blue');
INSERT INTO messages (session_id, role, content_json, created_timestamp, timestamp) VALUES
  ('20250901_100000', 'user', '[{"type":"text","text":"/help"}]', 1756713600, '2025-09-01 08:00:00'),
  ('20250901_100000', 'assistant', '[{"type":"conversationCompacted","msg":"x"},{"type":"reasoning","text":"old tag"}]', 1756713601123, '2025-09-01 08:00:01'),
  ('20250901_100000', 'assistant', '[]', 1756713601123, '2025-09-01 08:00:59'),
  ('20250901_100000', 'assistant', '', 0, '2025-09-01 08:01:00');
