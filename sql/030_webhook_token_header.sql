-- Whether deliveries carry the token itself in x-webhook-token, beside the signature.
alter table webhook_configs add column token_header boolean not null default true;
