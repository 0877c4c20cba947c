-- The address of the model's server, where that is the user's own: a session that is resumed stays with its model.
-- Messages may hold blocks of the kind `output`, which ask for an answer of a form.
ALTER TABLE sessions ADD COLUMN base_url TEXT NOT NULL DEFAULT '';
