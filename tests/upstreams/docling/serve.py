"""Stands in for Docling Serve: "converts" an uploaded text by putting it under a title.

Runs in the environment of docling-mcp. Prints its URL, and serves until it is killed.
"""

import email
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.labels import DocItemLabel

documents = {}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        task = self.path.split("?")[0].rsplit("/", 1)[-1]
        if self.path.startswith("/health"):
            self.answer({"status": "ok"})
        elif self.path.startswith("/v1/status/poll/"):
            self.answer(task_status(task, "success"))
        elif self.path.startswith("/v1/result/"):
            self.answer(documents[task])
        else:
            self.send_error(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/convert/file/async":
            self.send_error(404)
            return
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts = email.message_from_bytes(head + body).get_payload()
        fields = {part.get_param("name", header="Content-Disposition"): part for part in parts}
        if fields["target_type"].get_payload() != "inbody":
            # The client then requests the result in the body of the response.
            detail = "presigned_url requires artifact storage to be configured"
            self.answer({"detail": detail}, status=422)
            return
        file = fields["files"]
        task = f"task-{len(documents)}"
        documents[task] = convert(file.get_filename(), file.get_payload(decode=True))
        self.answer(task_status(task, "pending"))

    def answer(self, body, status=200):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def task_status(task, state):
    return {"task_id": task, "task_type": "convert", "task_status": state}


def convert(name, content):
    document = DoclingDocument(name=name)
    document.add_title(name)
    document.add_text(label=DocItemLabel.TEXT, text=content.decode())
    exported = {"filename": name, "json_content": document.export_to_dict()}
    return {"document": exported, "status": "success", "processing_time": 0.1}


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
