from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WalEntry(_message.Message):
    __slots__ = ("mutations", "bulk_entries")
    MUTATIONS_FIELD_NUMBER: _ClassVar[int]
    BULK_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    mutations: _containers.RepeatedCompositeFieldContainer[Mutation]
    bulk_entries: _containers.RepeatedCompositeFieldContainer[BulkMutation]
    def __init__(self, mutations: _Optional[_Iterable[_Union[Mutation, _Mapping]]] = ..., bulk_entries: _Optional[_Iterable[_Union[BulkMutation, _Mapping]]] = ...) -> None: ...

class Mutation(_message.Message):
    __slots__ = ("op_type", "sequence", "rows", "write_hint")
    class OpType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DELETE: _ClassVar[Mutation.OpType]
        PUT: _ClassVar[Mutation.OpType]
    DELETE: Mutation.OpType
    PUT: Mutation.OpType
    OP_TYPE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    WRITE_HINT_FIELD_NUMBER: _ClassVar[int]
    op_type: Mutation.OpType
    sequence: int
    rows: Rows
    write_hint: WriteHint
    def __init__(self, op_type: _Optional[_Union[Mutation.OpType, str]] = ..., sequence: _Optional[int] = ..., rows: _Optional[_Union[Rows, _Mapping]] = ..., write_hint: _Optional[_Union[WriteHint, _Mapping]] = ...) -> None: ...

class WriteHint(_message.Message):
    __slots__ = ("primary_key_encoding",)
    class PrimaryKeyEncoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DENSE: _ClassVar[WriteHint.PrimaryKeyEncoding]
        SPARSE: _ClassVar[WriteHint.PrimaryKeyEncoding]
    DENSE: WriteHint.PrimaryKeyEncoding
    SPARSE: WriteHint.PrimaryKeyEncoding
    PRIMARY_KEY_ENCODING_FIELD_NUMBER: _ClassVar[int]
    primary_key_encoding: WriteHint.PrimaryKeyEncoding
    def __init__(self, primary_key_encoding: _Optional[_Union[WriteHint.PrimaryKeyEncoding, str]] = ...) -> None: ...

class BulkMutation(_message.Message):
    __slots__ = ("sequence", "max_ts", "min_ts", "timestamp_index", "arrow_ipc")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MAX_TS_FIELD_NUMBER: _ClassVar[int]
    MIN_TS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_INDEX_FIELD_NUMBER: _ClassVar[int]
    ARROW_IPC_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    max_ts: int
    min_ts: int
    timestamp_index: int
    arrow_ipc: ArrowIpc
    def __init__(self, sequence: _Optional[int] = ..., max_ts: _Optional[int] = ..., min_ts: _Optional[int] = ..., timestamp_index: _Optional[int] = ..., arrow_ipc: _Optional[_Union[ArrowIpc, _Mapping]] = ...) -> None: ...

class ArrowIpc(_message.Message):
    __slots__ = ("schema", "data_header", "payload")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    DATA_HEADER_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    schema: bytes
    data_header: bytes
    payload: bytes
    def __init__(self, schema: _Optional[bytes] = ..., data_header: _Optional[bytes] = ..., payload: _Optional[bytes] = ...) -> None: ...

class Rows(_message.Message):
    __slots__ = ("schema", "rows")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    schema: _containers.RepeatedCompositeFieldContainer[ColumnSchema]
    rows: _containers.RepeatedCompositeFieldContainer[Row]
    def __init__(self, schema: _Optional[_Iterable[_Union[ColumnSchema, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ...) -> None: ...

class ColumnSchema(_message.Message):
    __slots__ = ("column_name", "datatype", "semantic_type")
    class DataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        BOOLEAN: _ClassVar[ColumnSchema.DataType]
        INT8: _ClassVar[ColumnSchema.DataType]
        INT16: _ClassVar[ColumnSchema.DataType]
        INT32: _ClassVar[ColumnSchema.DataType]
        INT64: _ClassVar[ColumnSchema.DataType]
        UINT8: _ClassVar[ColumnSchema.DataType]
        UINT16: _ClassVar[ColumnSchema.DataType]
        UINT32: _ClassVar[ColumnSchema.DataType]
        UINT64: _ClassVar[ColumnSchema.DataType]
        FLOAT32: _ClassVar[ColumnSchema.DataType]
        FLOAT64: _ClassVar[ColumnSchema.DataType]
        BINARY: _ClassVar[ColumnSchema.DataType]
        STRING: _ClassVar[ColumnSchema.DataType]
        DATE: _ClassVar[ColumnSchema.DataType]
        DATETIME: _ClassVar[ColumnSchema.DataType]
        TIMESTAMP_SECOND: _ClassVar[ColumnSchema.DataType]
        TIMESTAMP_MILLISECOND: _ClassVar[ColumnSchema.DataType]
        TIMESTAMP_MICROSECOND: _ClassVar[ColumnSchema.DataType]
        TIMESTAMP_NANOSECOND: _ClassVar[ColumnSchema.DataType]
        TIME_SECOND: _ClassVar[ColumnSchema.DataType]
        TIME_MILLISECOND: _ClassVar[ColumnSchema.DataType]
        TIME_MICROSECOND: _ClassVar[ColumnSchema.DataType]
        TIME_NANOSECOND: _ClassVar[ColumnSchema.DataType]
        INTERVAL_YEAR_MONTH: _ClassVar[ColumnSchema.DataType]
        INTERVAL_DAY_TIME: _ClassVar[ColumnSchema.DataType]
        INTERVAL_MONTH_DAY_NANO: _ClassVar[ColumnSchema.DataType]
        DECIMAL128: _ClassVar[ColumnSchema.DataType]
        JSON: _ClassVar[ColumnSchema.DataType]
        VECTOR: _ClassVar[ColumnSchema.DataType]
        LIST: _ClassVar[ColumnSchema.DataType]
        STRUCT: _ClassVar[ColumnSchema.DataType]
    BOOLEAN: ColumnSchema.DataType
    INT8: ColumnSchema.DataType
    INT16: ColumnSchema.DataType
    INT32: ColumnSchema.DataType
    INT64: ColumnSchema.DataType
    UINT8: ColumnSchema.DataType
    UINT16: ColumnSchema.DataType
    UINT32: ColumnSchema.DataType
    UINT64: ColumnSchema.DataType
    FLOAT32: ColumnSchema.DataType
    FLOAT64: ColumnSchema.DataType
    BINARY: ColumnSchema.DataType
    STRING: ColumnSchema.DataType
    DATE: ColumnSchema.DataType
    DATETIME: ColumnSchema.DataType
    TIMESTAMP_SECOND: ColumnSchema.DataType
    TIMESTAMP_MILLISECOND: ColumnSchema.DataType
    TIMESTAMP_MICROSECOND: ColumnSchema.DataType
    TIMESTAMP_NANOSECOND: ColumnSchema.DataType
    TIME_SECOND: ColumnSchema.DataType
    TIME_MILLISECOND: ColumnSchema.DataType
    TIME_MICROSECOND: ColumnSchema.DataType
    TIME_NANOSECOND: ColumnSchema.DataType
    INTERVAL_YEAR_MONTH: ColumnSchema.DataType
    INTERVAL_DAY_TIME: ColumnSchema.DataType
    INTERVAL_MONTH_DAY_NANO: ColumnSchema.DataType
    DECIMAL128: ColumnSchema.DataType
    JSON: ColumnSchema.DataType
    VECTOR: ColumnSchema.DataType
    LIST: ColumnSchema.DataType
    STRUCT: ColumnSchema.DataType
    class SemanticType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        TAG: _ClassVar[ColumnSchema.SemanticType]
        FIELD: _ClassVar[ColumnSchema.SemanticType]
        TIMESTAMP: _ClassVar[ColumnSchema.SemanticType]
    TAG: ColumnSchema.SemanticType
    FIELD: ColumnSchema.SemanticType
    TIMESTAMP: ColumnSchema.SemanticType
    COLUMN_NAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_TYPE_FIELD_NUMBER: _ClassVar[int]
    column_name: str
    datatype: ColumnSchema.DataType
    semantic_type: ColumnSchema.SemanticType
    def __init__(self, column_name: _Optional[str] = ..., datatype: _Optional[_Union[ColumnSchema.DataType, str]] = ..., semantic_type: _Optional[_Union[ColumnSchema.SemanticType, str]] = ...) -> None: ...

class Row(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, values: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "boolean", "binary", "text", "date", "datetime", "ts_s", "ts_ms", "ts_us", "ts_ns", "time_s", "time_ms", "time_us", "time_ns", "interval_year_month", "interval_day_time", "interval_month_day_nano", "decimal128", "array", "struct", "json")
    I8_FIELD_NUMBER: _ClassVar[int]
    I16_FIELD_NUMBER: _ClassVar[int]
    I32_FIELD_NUMBER: _ClassVar[int]
    I64_FIELD_NUMBER: _ClassVar[int]
    U8_FIELD_NUMBER: _ClassVar[int]
    U16_FIELD_NUMBER: _ClassVar[int]
    U32_FIELD_NUMBER: _ClassVar[int]
    U64_FIELD_NUMBER: _ClassVar[int]
    F32_FIELD_NUMBER: _ClassVar[int]
    F64_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    DATETIME_FIELD_NUMBER: _ClassVar[int]
    TS_S_FIELD_NUMBER: _ClassVar[int]
    TS_MS_FIELD_NUMBER: _ClassVar[int]
    TS_US_FIELD_NUMBER: _ClassVar[int]
    TS_NS_FIELD_NUMBER: _ClassVar[int]
    TIME_S_FIELD_NUMBER: _ClassVar[int]
    TIME_MS_FIELD_NUMBER: _ClassVar[int]
    TIME_US_FIELD_NUMBER: _ClassVar[int]
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_YEAR_MONTH_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_DAY_TIME_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_MONTH_DAY_NANO_FIELD_NUMBER: _ClassVar[int]
    DECIMAL128_FIELD_NUMBER: _ClassVar[int]
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    STRUCT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    i8: int
    i16: int
    i32: int
    i64: int
    u8: int
    u16: int
    u32: int
    u64: int
    f32: float
    f64: float
    boolean: bool
    binary: bytes
    text: str
    date: int
    datetime: int
    ts_s: int
    ts_ms: int
    ts_us: int
    ts_ns: int
    time_s: int
    time_ms: int
    time_us: int
    time_ns: int
    interval_year_month: int
    interval_day_time: int
    interval_month_day_nano: IntervalMonthDayNano
    decimal128: Decimal128
    array: ListValue
    struct: StructValue
    json: JsonValue
    def __init__(self, i8: _Optional[int] = ..., i16: _Optional[int] = ..., i32: _Optional[int] = ..., i64: _Optional[int] = ..., u8: _Optional[int] = ..., u16: _Optional[int] = ..., u32: _Optional[int] = ..., u64: _Optional[int] = ..., f32: _Optional[float] = ..., f64: _Optional[float] = ..., boolean: _Optional[bool] = ..., binary: _Optional[bytes] = ..., text: _Optional[str] = ..., date: _Optional[int] = ..., datetime: _Optional[int] = ..., ts_s: _Optional[int] = ..., ts_ms: _Optional[int] = ..., ts_us: _Optional[int] = ..., ts_ns: _Optional[int] = ..., time_s: _Optional[int] = ..., time_ms: _Optional[int] = ..., time_us: _Optional[int] = ..., time_ns: _Optional[int] = ..., interval_year_month: _Optional[int] = ..., interval_day_time: _Optional[int] = ..., interval_month_day_nano: _Optional[_Union[IntervalMonthDayNano, _Mapping]] = ..., decimal128: _Optional[_Union[Decimal128, _Mapping]] = ..., array: _Optional[_Union[ListValue, _Mapping]] = ..., struct: _Optional[_Union[StructValue, _Mapping]] = ..., json: _Optional[_Union[JsonValue, _Mapping]] = ...) -> None: ...

class IntervalMonthDayNano(_message.Message):
    __slots__ = ("months", "days", "nanoseconds")
    MONTHS_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    months: int
    days: int
    nanoseconds: int
    def __init__(self, months: _Optional[int] = ..., days: _Optional[int] = ..., nanoseconds: _Optional[int] = ...) -> None: ...

class Decimal128(_message.Message):
    __slots__ = ("hi", "lo")
    HI_FIELD_NUMBER: _ClassVar[int]
    LO_FIELD_NUMBER: _ClassVar[int]
    hi: int
    lo: int
    def __init__(self, hi: _Optional[int] = ..., lo: _Optional[int] = ...) -> None: ...

class ListValue(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, items: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class StructValue(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, items: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class JsonValue(_message.Message):
    __slots__ = ("boolean", "i64", "u64", "f64", "text", "array", "object")
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    I64_FIELD_NUMBER: _ClassVar[int]
    U64_FIELD_NUMBER: _ClassVar[int]
    F64_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    boolean: bool
    i64: int
    u64: int
    f64: float
    text: str
    array: JsonArray
    object: JsonObject
    def __init__(self, boolean: _Optional[bool] = ..., i64: _Optional[int] = ..., u64: _Optional[int] = ..., f64: _Optional[float] = ..., text: _Optional[str] = ..., array: _Optional[_Union[JsonArray, _Mapping]] = ..., object: _Optional[_Union[JsonObject, _Mapping]] = ...) -> None: ...

class JsonArray(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[JsonValue]
    def __init__(self, items: _Optional[_Iterable[_Union[JsonValue, _Mapping]]] = ...) -> None: ...

class JsonObject(_message.Message):
    __slots__ = ("members",)
    class Member(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: JsonValue
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[JsonValue, _Mapping]] = ...) -> None: ...
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[JsonObject.Member]
    def __init__(self, members: _Optional[_Iterable[_Union[JsonObject.Member, _Mapping]]] = ...) -> None: ...
