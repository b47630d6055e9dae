-- fixture: wal
-- Schema 16 as a fresh database has it: two sessions of a user, a fork of the
-- first, a delegated session, a message whose session is gone, and a ledger.
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version VALUES (16, '2026-10-05 08:00:00');
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE,
  session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER,
  output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, accumulated_total_tokens INTEGER,
  accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER,
  accumulated_cache_write_tokens INTEGER, accumulated_cost REAL, schedule_id TEXT, recipe_json TEXT, user_recipe_values_json TEXT,
  provider_name TEXT, model_config_json TEXT, goose_mode TEXT NOT NULL DEFAULT 'auto', archived_at TIMESTAMP, project_id TEXT,
  parent_session_id TEXT);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
  content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER,
  metadata_json TEXT);
CREATE TABLE usage_ledger (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0);
CREATE INDEX idx_messages_session ON messages(session_id);
CREATE INDEX idx_messages_message_id ON messages(message_id);

INSERT INTO sessions (id, name, user_set_name, working_dir, created_at, updated_at, provider_name, model_config_json, goose_mode,
  total_tokens, input_tokens, output_tokens, accumulated_total_tokens, accumulated_input_tokens, accumulated_output_tokens, accumulated_cost) VALUES
  ('20261005_1', 'Tidy the parser', 1, '/home/ada/parser', '2026-10-05 08:00:00', '2026-10-05 08:04:00', 'anthropic',
   '{"model_name":"claude-sonnet-4-5","temperature":null,"max_tokens":null}', 'approve', 990, 900, 90, 2540, 2400, 140, 0.031);
INSERT INTO sessions (id, name, working_dir, created_at, updated_at, provider_name, model_config_json) VALUES
  ('20261005_2', 'Tidy the parser (copy)', '/home/ada/parser', '2026-10-05 08:10:00', '2026-10-05 08:10:00', 'anthropic', '{"model_name":"claude-sonnet-4-5"}');
INSERT INTO sessions (id, name, session_type, working_dir, created_at, updated_at, provider_name, model_config_json, parent_session_id) VALUES
  ('20261005_3', 'Delegated task', 'sub_agent', '/home/ada/parser', '2026-10-05 08:03:00', '2026-10-05 08:03:30', 'anthropic', '{"model_name":"claude-sonnet-4-5"', '20261005_1');
INSERT INTO sessions (id, name, working_dir, created_at, updated_at) VALUES
  ('20261005_4', 'New Chat', '/home/ada', '2026-10-05 09:00:00', '2026-10-05 09:00:00');

INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, timestamp, metadata_json) VALUES
  ('msg_a1', '20261005_1', 'user', '[{"type":"text","text":"Which tests fail?\nPlease fix them."}]', 1791187200, '2026-10-05 08:00:00', '{"userVisible":true,"agentVisible":true}'),
  ('msg_a2', '20261005_1', 'user', '[{"type":"text","text":"<context>today</context>"}]', 1791187200, '2026-10-05 08:00:00', '{"userVisible":false,"agentVisible":true,"turnContext":true}'),
  ('resp-1', '20261005_1', 'assistant', '[{"type":"thinking","thinking":"Run them first.","signature":"c2ln"},{"type":"toolRequest","id":"call_1","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"go test ./..."}}},"_meta":{"goose_extension":"developer","goose.executable":true}}]', 1791187201, '2026-10-05 08:00:09',
   '{"userVisible":true,"agentVisible":true,"inference":{"provider":"anthropic","requestedModel":"claude-sonnet-4-5"},"usage":{"inputTokens":1500,"outputTokens":50,"totalTokens":1550,"cacheReadTokens":1000,"cost":0.02,"costSource":"estimated","elapsedMs":812}}'),
  ('msg_a4', '20261005_1', 'user', '[{"type":"actionRequired","data":{"actionType":"toolConfirmationResponse","id":"call_1","permission":"allow_once"}}]', 1791187205, '2026-10-05 08:00:05', '{"userVisible":false,"agentVisible":false}'),
  ('msg_a5', '20261005_1', 'user', '[{"type":"toolResponse","id":"call_1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"FAIL parser"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"structuredContent":{"exit_code":1},"isError":true}}}]', 1791187208, '2026-10-05 08:00:08', '{"userVisible":true,"agentVisible":true}'),
  ('resp-2', '20261005_1', 'assistant', '[{"type":"text","text":"One test fails; I would delete its fixture."},{"type":"toolRequest","id":"call_2","toolCall":{"status":"success","value":{"name":"files__remove","arguments":{"path":"testdata/old"}}},"_meta":{"goose.executable":false}}]', 1791187210, '2026-10-05 08:00:12',
   '{"userVisible":true,"agentVisible":true,"inference":{"provider":"anthropic","requestedModel":"claude-sonnet-4-5","resolvedModel":"claude-sonnet-4-5-20250929"},"usage":{"inputTokens":900,"outputTokens":90,"totalTokens":990}}'),
  ('msg_a7', '20261005_1', 'user', '[{"type":"toolResponse","id":"call_2","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"The user has declined to run this tool. Try something else."}],"isError":true}}}]', 1791187212, '2026-10-05 08:00:12', NULL),
  ('msg_a8', '20261005_1', 'assistant', '[{"type":"toolRequest","id":"call_3","toolCall":{"status":"success","value":{"name":"delegate","arguments":{}}}}]', 1791187380, '2026-10-05 08:03:00', '{"userVisible":true'),
  ('msg_b1', '20261005_3', 'user', '[{"type":"text","text":"Subtask"}]', 1791187380, '2026-10-05 08:03:00', '{"userVisible":true,"agentVisible":true}'),
  ('msg_b2', '20261005_3', 'assistant', '[{"type":"text","text":"cut off', 1791187381, '2026-10-05 08:03:01', NULL),
  ('msg_a1', '20261005_2', 'user', '[{"type":"text","text":"Which tests fail?\nPlease fix them."}]', 1791187200, '2026-10-05 08:10:00', '{"userVisible":true,"agentVisible":true}'),
  ('resp-1', '20261005_2', 'assistant', '[{"type":"text","text":"(shortened)"}]', 1791187201, '2026-10-05 08:10:00', '{"usage":{"inputTokens":1500,"outputTokens":50}}'),
  ('msg_x1', '20261004_9', 'user', '[{"type":"text","text":"what was this session?"}]', 1791100800, '2026-10-04 08:00:00', '{"userVisible":true,"agentVisible":true}');

INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, total_tokens, cache_read_tokens, cache_write_tokens, cost, cost_source, is_compaction) VALUES
  ('20261005_1', 1791187209, 'claude-sonnet-4-5', 1500, 50, 1550, 1000, NULL, 0.02, 'estimated', 0),
  ('20261005_1', 1791187212, 'claude-sonnet-4-5-20250929', 900, 90, 990, NULL, 100, NULL, NULL, 0),
  ('20261005_1', 1791187212, NULL, 700, 10, 710, 0, 0, 0.011, 'carried_forward', 0),
  ('20261004_9', 1791100800, 'gpt-4o', 10, 2, 12, NULL, NULL, 0.0001, 'provider_reported', 1);
