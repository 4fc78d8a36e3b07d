// node send_traces.cjs PACKAGES EXPORTER URL REQUESTS
// Sends REQUESTS traces of three spans by one of OpenTelemetry's exporters (otlp-json, otlp-proto, zipkin), and prints what it has sent, as
// JSON: a list of {trace, span, parent, service, method, duration_ns, is_error, route}.
'use strict';
const path = require('node:path');
const [, , packages, exporterName, url, requests] = process.argv;
const load = (name) => require(path.join(packages, 'node_modules', '@opentelemetry', name));
const { SpanKind, SpanStatusCode, context, trace } = load('api');
const { BasicTracerProvider, BatchSpanProcessor } = load('sdk-trace-base');
const { resourceFromAttributes } = load('resources');

const exporters = {
  'otlp-json': () => new (load('exporter-trace-otlp-http').OTLPTraceExporter)({ url, compression: 'gzip' }),
  'otlp-proto': () => new (load('exporter-trace-otlp-proto').OTLPTraceExporter)({ url }),
  'zipkin': () => new (load('exporter-zipkin').ZipkinExporter)({ url }),
};

// What the exporter said of each batch: 0 is success.
function watched(exporter, codes) {
  const exportSpans = exporter.export.bind(exporter);
  exporter.export = (spans, done) => exportSpans(spans, (result) => {
    codes.push(result.code);
    done(result);
  });
  return exporter;
}

async function main() {
  const codes = [];
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'shop', 'service.instance.id': 'shop-7', 'host.name': 'node-3', 'host.type': 'c7',
    }),
    spanProcessors: [new BatchSpanProcessor(watched(exporters[exporterName](), codes), { maxExportBatchSize: 64, scheduledDelayMillis: 50 })],
  });
  const tracer = provider.getTracer('tests');
  const sent = [];
  const note = (span, method, parent, startMs, endMs, isError) => sent.push({
    trace: span.spanContext().traceId, span: span.spanContext().spanId, parent, service: 'shop', method,
    duration_ns: (endMs - startMs) * 1e6, is_error: isError,
  });
  const now = Date.now() - 60000;
  for (let i = 0; i < Number(requests); ++i) {
    const begin = now + i;
    const root = tracer.startSpan('GET /cart', { kind: SpanKind.SERVER, startTime: begin, attributes: { 'http.route': '/cart' } });
    const inRoot = trace.setSpan(context.active(), root);
    const isError = i % 3 === 0;
    const query = tracer.startSpan('SELECT', { kind: SpanKind.CLIENT, startTime: begin + 2 }, inRoot);
    query.setStatus({ code: isError ? SpanStatusCode.ERROR : SpanStatusCode.OK });
    query.end(begin + 5);
    const render = tracer.startSpan('render é', { kind: SpanKind.INTERNAL, startTime: begin + 5 }, inRoot);
    render.end(begin + 9);
    root.end(begin + 10);
    note(root, 'GET /cart', null, begin, begin + 10, false);
    note(query, 'SELECT', root.spanContext().spanId, begin + 2, begin + 5, isError);
    note(render, 'render é', root.spanContext().spanId, begin + 5, begin + 9, false);
  }
  await provider.forceFlush();
  await provider.shutdown();
  if (codes.length === 0 || codes.some((code) => code !== 0)) {
    throw new Error(`the exporter reports ${JSON.stringify(codes)}`);
  }
  console.log(JSON.stringify(sent));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
