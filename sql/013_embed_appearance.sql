-- How the page of a session looks, and its language. Null: the page's own colour.
alter table embed_sessions
  add column theme text not null default 'auto' check (theme in ('auto', 'light', 'dark')),
  add column locale text not null default 'auto' check (locale in ('auto', 'en', 'pt', 'es')),
  add column accent_color text check (accent_color ~ '^#[0-9a-fA-F]{6}$');
