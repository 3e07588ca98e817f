"""A server on loopback that speaks as much of Qdrant's gRPC as the store asks for.

As with `tests.qdrant_server`, the client's own in-process mode answers; requests and answers are
turned by the client's own conversions. ``server.calls`` counts what came, by method, and
``server.largest`` is the size of the largest request in bytes.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, NoReturn, Self

import grpc
from pydantic import SecretStr
from qdrant_client import QdrantClient
from qdrant_client import grpc as messages
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from recdemo.store.connection import connect
from recdemo.store.location import parse_location
from recdemo.store.server import ServerStore
from tests.stores import never


class QdrantGrpcServer:
    """Answers by gRPC as Qdrant does; open it with ``with``."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.calls: Counter[str] = Counter()
        self.largest = 0
        self.client = QdrantClient(":memory:")
        self.lock = Lock()
        unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._server = grpc.server(ThreadPoolExecutor(4), options=unlimited)
        messages.add_QdrantServicer_to_server(_Root(self), self._server)
        messages.add_CollectionsServicer_to_server(_Collections(self), self._server)
        messages.add_PointsServicer_to_server(_Points(self), self._server)
        self.port = self._server.add_insecure_port("127.0.0.1:0")

    def open(self, key: str | None = None) -> ServerStore:
        """Open the store by gRPC."""
        location = parse_location(f"grpc+http://127.0.0.1:{self.port}")
        secret = None if key is None else SecretStr(key)
        return ServerStore(connect(location, secret, grpc_port=self.port, sleep=never))

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait()
        self.client.close()

    def take(self, request: Any, context: grpc.ServicerContext) -> None:
        """Note a request, and refuse it without the right key."""
        name = type(request).__name__
        with self.lock:
            self.calls[name] += 1
            self.largest = max(self.largest, request.ByteSize())
        given = dict(context.invocation_metadata()).get("api-key")
        if self.key is not None and given != self.key and name != "HealthCheckRequest":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "Must provide an API key")


class _Root(messages.QdrantServicer):
    def __init__(self, server: QdrantGrpcServer) -> None:
        self.server = server

    def HealthCheck(self, request, context):
        self.server.take(request, context)
        return messages.HealthCheckReply(title="qdrant - vector search engine", version="1.20.0")


class _Collections(messages.CollectionsServicer):
    def __init__(self, server: QdrantGrpcServer) -> None:
        self.server, self.client = server, server.client

    def List(self, request, context):
        self.server.take(request, context)
        names = [each.name for each in self.client.get_collections().collections]
        described = [messages.CollectionDescription(name=name) for name in names]
        return messages.ListCollectionsResponse(collections=described)

    def Get(self, request, context):
        self.server.take(request, context)
        try:
            told = self.client.get_collection(request.collection_name)
        except ValueError as error:
            _refuse(context, error)
        return messages.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(told))

    def Create(self, request, context):
        self.server.take(request, context)
        vectors = GrpcToRest.convert_vectors_config(request.vectors_config)
        metadata = GrpcToRest.convert_payload(request.metadata)
        with self.server.lock:
            try:
                self.client.create_collection(request.collection_name, vectors, metadata=metadata)
            except ValueError as error:
                _refuse(context, error)
        return messages.CollectionOperationResponse(result=True)

    def Update(self, request, context):
        self.server.take(request, context)
        metadata = GrpcToRest.convert_payload(request.metadata)
        self.client.update_collection(request.collection_name, metadata=metadata)
        return messages.CollectionOperationResponse(result=True)

    def Delete(self, request, context):
        self.server.take(request, context)
        return messages.CollectionOperationResponse(
            result=self.client.delete_collection(request.collection_name)
        )


class _Points(messages.PointsServicer):
    def __init__(self, server: QdrantGrpcServer) -> None:
        self.server, self.client = server, server.client

    def Upsert(self, request, context):
        self.server.take(request, context)
        assert request.wait
        points = [GrpcToRest.convert_point_struct(point) for point in request.points]
        with self.server.lock:
            self.client.upsert(request.collection_name, points)
        done = messages.UpdateResult(operation_id=0, status=messages.UpdateStatus.Completed)
        return messages.PointsOperationResponse(result=done)

    def Count(self, request, context):
        self.server.take(request, context)
        assert request.exact
        count = self.client.count(request.collection_name).count
        return messages.CountResponse(result=messages.CountResult(count=count))

    def Scroll(self, request, context):
        self.server.take(request, context)
        has_offset = request.HasField("offset")
        points, after = self.client.scroll(
            request.collection_name,
            limit=request.limit,
            offset=GrpcToRest.convert_point_id(request.offset) if has_offset else None,
            with_payload=GrpcToRest.convert_with_payload_selector(request.with_payload),
            with_vectors=GrpcToRest.convert_with_vectors_selector(request.with_vectors),
        )
        for point in points:  # the conversion knows no point without a payload
            point.payload = point.payload or {}
        found = [RestToGrpc.convert_record(point) for point in points]
        if after is None:
            return messages.ScrollResponse(result=found)
        return messages.ScrollResponse(
            result=found, next_page_offset=RestToGrpc.convert_extended_point_id(after)
        )

    def QueryBatch(self, request, context):
        self.server.take(request, context)
        searches = [GrpcToRest.convert_query_points(each) for each in request.query_points]
        assert all(each.params is not None and each.params.exact for each in searches)
        answers = self.client.query_batch_points(request.collection_name, searches)
        for point in (point for answer in answers for point in answer.points):
            point.payload = point.payload or {}
        return messages.QueryBatchResponse(
            result=[
                messages.BatchResult(
                    result=[RestToGrpc.convert_scored_point(point) for point in answer.points]
                )
                for answer in answers
            ]
        )


def _refuse(context: grpc.ServicerContext, error: ValueError) -> NoReturn:
    missing = "not found" in str(error)
    code = grpc.StatusCode.NOT_FOUND if missing else grpc.StatusCode.ALREADY_EXISTS
    context.abort(code, str(error))
    raise AssertionError("abort raises") from error
