/** Reads the data that the server wrote into the page. */
export const readData = <T>(): T => JSON.parse(document.getElementById("data")?.textContent ?? "{}") as T;
