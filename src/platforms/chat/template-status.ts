/** Of our three words, so that APPROVED always means sendable; undefined where the platform's word leaves it as it was. */
export function templateStatus(word: string): "PENDING" | "APPROVED" | "REJECTED" | undefined {
  switch (word) {
    case "PENDING":
    case "IN_APPEAL":
      return "PENDING";
    case "APPROVED":
    case "REINSTATED":
      return "APPROVED";
    case "FLAGGED":
    case "UNARCHIVED":
      return undefined;
    default:
      return "REJECTED";
  }
}
