import type { ClientConfig } from "pg";

/**
 * Connection options for pg. `sslmode` has the meaning of libpq: `require` encrypts without verifying the
 * certificate, which Heroku-style databases need; pg would treat it as `verify-full`.
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
