import type { ClientConfig } from "pg";

/**
 * What pg needs to connect. `sslmode` means what libpq means by it (`require` encrypts without checking the
 * certificate, as the databases of Heroku-style platforms need); pg by itself would take it for `verify-full`.
 */
export function connectionOptions(address: string): ClientConfig {
  const url = new URL(address);
  const mode = url.searchParams.get("sslmode");
  url.searchParams.delete("sslmode");
  const hasRootCertificate = url.searchParams.has("sslrootcert");
  const shouldVerify = mode === "verify-full" || mode === "verify-ca" || hasRootCertificate;
  const ssl = mode === null || mode === "disable" ? {} : { ssl: { rejectUnauthorized: shouldVerify } };
  return { connectionString: url.href, ...ssl };
}
