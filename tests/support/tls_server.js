// tls_server.js: an HTTPS server of this machine with the certificate of a folder, which says its port on its first line
// and appends to `seen` of that folder what it was asked: method, path, Authorization, length of the body.
// node tls_server.js FOLDER
const fs = require("fs");
const https = require("https");

const folder = process.argv[2];
const answers = {
  "/echo": (request) => [200, { "X-Back": request.headers.authorization || "" }, ""],
  "/words": (request) => [200, {}, JSON.stringify(request.headers)],
  "/away": () => [307, { Location: fs.readFileSync(`${folder}/away`, "utf8") }, ""],
};

const server = https.createServer({ key: fs.readFileSync(`${folder}/key`), cert: fs.readFileSync(`${folder}/cert`) });
server.on("request", (request, response) => {
  let length = 0;
  request.on("data", (piece) => (length += piece.length));
  request.on("end", () => {
    fs.appendFileSync(`${folder}/seen`, `${request.method} ${request.url} ${request.headers.authorization} ${length}\n`);
    const [status, headers, body] = (answers[request.url] || (() => [200, {}, "served\n"]))(request);
    response.writeHead(status, headers);
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
