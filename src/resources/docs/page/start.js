/** The base URL of the service that serves this page: "Try it out" must stay on its origin. */
const service = new URL("..", window.location.href).href.replace(/\/$/, "");

function show(description) {
  SwaggerUIBundle({
    dom_id: "#reference",
    spec: { ...description, servers: [{ url: service }] },
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
}

function complain() {
  const notice = document.querySelector(".notice");
  notice.textContent = "The API reference could not be loaded. Please try again in a moment.";
  notice.setAttribute("role", "alert");
}

fetch("openapi.json")
  .then((response) => (response.ok ? response.json() : Promise.reject(new Error(String(response.status)))))
  .then(show)
  .catch(complain);
