// A client of tenure.dll that shares no line with it: Node for Windows, calling it by koffi, a foreign-function package.
//   node windows_client.js KOFFI LIBRARY FILE NEW_FILE ANSWERS
// leases what FILE holds, whole, sliced, converted and as a view, writes NEW_FILE, and puts what it saw into ANSWERS as JSON.
// Declarations are written after include/tenure; tests/end/windows_client.py knows what is right.
const [koffiPath, libraryPath, filePath, newPath, answersPath] = process.argv.slice(2)
const koffi = require(koffiPath)
const fs = require('fs')
const lib = koffi.load(libraryPath)

koffi.struct('tn_text', { bytes: 'const char *', size: 'size_t' })
koffi.struct('tn_error', {
  status: 'int', offset: 'uint64_t', expected: 'uint64_t', found: 'uint64_t',
  message: koffi.array('char', 512, 'String'), file: koffi.array('char', 1536, 'String'), tensor: koffi.array('char', 512, 'String'),
})
koffi.struct('tn_index', { kind: 'int', start: 'int64_t', stop: 'int64_t', step: 'int64_t' })
koffi.struct('tn_lease_options', {
  size: 'size_t', flags: 'uint32_t', way: 'int', index: 'tn_index *', index_count: 'size_t', progress: 'void *', user: 'void *',
  dtype: 'int', digests: 'void *', file_digest: 'void *',
})
koffi.struct('tn_lease', {
  data: 'void *', owned: 'void *', size_bytes: 'uint64_t', elements: 'uint64_t', dtype: 'int', rank: 'uint32_t',
  shape: 'void *', strides: 'void *', name: 'tn_text', way: 'int', reason: 'const char *',
})
koffi.struct('tn_write_tensor', { name: 'tn_text', dtype: 'int', rank: 'uint32_t', shape: 'uint64_t *' })

const f = Object.fromEntries([
  'const char *tn_version()',
  'int tn_context_create(void *options, _Out_ void **out, _Out_ tn_error *err)',
  'void tn_context_destroy(void *context)',
  'int tn_checkpoint_open(void *context, const char *path, void *options, _Out_ void **out, _Out_ tn_error *err)',
  'void tn_checkpoint_release(void *checkpoint)',
  'size_t tn_checkpoint_tensors(void *checkpoint, _Out_ void **out)',
  'int tn_lease_named(void *checkpoint, const char *name, tn_lease_options *options, _Out_ void **out, _Out_ tn_error *err)',
  'void tn_lease_release(void *lease)',
  'const char *tn_way_word(int way)',
  'const char *tn_dtype_name(int dtype)',
  'bool tn_dtype_from_name(const char *name, size_t size, _Out_ int *out)',
  'const char *tn_status_word(int status)',
  'int tn_writer_open(void *context, const char *path, tn_write_tensor *tensors, size_t count, void *options, _Out_ void **out, _Out_ tn_error *err)',
  'int tn_writer_put(void *writer, size_t tensor, void *bytes, size_t size, _Out_ tn_error *err)',
  'int tn_writer_finish(void *writer, _Out_ tn_error *err)',
  'void tn_writer_destroy(void *writer)',
].map((text) => [text.match(/(\w+)\(/)[1], lib.func(text)]))

const NONE = -(2n ** 63n)
const VIEW = 1, CONVERT = 16

// Throws with the status's word when a call fails; else what it gave out.
function give(call, ...given) {
  const out = [null], err = {}
  const status = call(...given, out, err)
  if (status !== 0)
    throw Object.assign(new Error(`${f.tn_status_word(status)}: ${err.message}`), { word: f.tn_status_word(status), tensor: err.tensor })
  return out[0]
}

function dtype(name) {
  const out = [0]
  if (!f.tn_dtype_from_name(name, name.length, out))
    throw new Error(`no type ${name}`)
  return out[0]
}

function lease(checkpoint, name, more = {}) {
  const options = {
    size: koffi.sizeof('tn_lease_options'), flags: 0, way: 0, index: more.index ?? null, index_count: more.index?.length ?? 0,
    progress: null, user: null, dtype: 0, digests: null, file_digest: null, ...more,
  }
  return give(f.tn_lease_named, checkpoint, name, options)
}

function seen(pointer) {
  const one = koffi.decode(pointer, 'tn_lease')
  const bytes = Number(one.size_bytes)
  return {
    dtype: f.tn_dtype_name(one.dtype), way: f.tn_way_word(one.way), shape: koffi.decode(one.shape, 'uint64_t', one.rank).map(Number),
    bytes: Buffer.from(koffi.decode(one.data, 'uint8_t', bytes)).toString('hex'),
  }
}

function leased(checkpoint, name, more) {
  const pointer = lease(checkpoint, name, more)
  const answer = seen(pointer)
  f.tn_lease_release(pointer)
  return answer
}

function refused(work) {
  try {
    work()
    return 'nothing was refused'
  } catch (error) {
    return [error.word ?? String(error), error.tensor]
  }
}

const context = give(f.tn_context_create, null)
const checkpoint = give(f.tn_checkpoint_open, context, filePath, null)
const list = [null]
const answers = { version: f.tn_version(), tensors: Number(f.tn_checkpoint_tensors(checkpoint, list)) }
answers.whole = leased(checkpoint, 'whole')
answers.slice = leased(checkpoint, 'whole', { index: [{ kind: 0, start: 1, stop: NONE, step: 2 }, { kind: 1, start: -1, stop: 0, step: 0 }] })
answers.turned = leased(checkpoint, 'whole', { flags: CONVERT, dtype: dtype('F32') })
answers.view = leased(checkpoint, 'whole', { flags: VIEW })
answers.no_such = refused(() => lease(checkpoint, 'nothing'))
answers.no_file = refused(() => give(f.tn_checkpoint_open, context, filePath + '.gone', null))

// What is leased outlives the checkpoint and the context.
const kept = lease(checkpoint, 'bytes')
const shape = [3n], data = Buffer.from([7, 8, 9])
const writer = give(f.tn_writer_open, context, newPath, [{ name: { bytes: 'new', size: 3 }, dtype: dtype('U8'), rank: 1, shape }], 1, null)
const err = {}
answers.put = f.tn_writer_put(writer, 0, data, data.length, err)
answers.finish = f.tn_writer_finish(writer, err)
f.tn_writer_destroy(writer)
f.tn_checkpoint_release(checkpoint)
f.tn_context_destroy(context)
answers.kept = seen(kept)
f.tn_lease_release(kept)
fs.writeFileSync(answersPath, JSON.stringify(answers))
