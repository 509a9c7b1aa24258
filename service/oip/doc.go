// Package oip implements the Open Inference Protocol v2 (KServe, Triton) for searches:
// requests and answers as JSON and with the binary tensor data extension, and the bodies of
// metadata.
//
// Sources: the protocol, https://github.com/kserve/open-inference-protocol, and the
// extension,
// https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md.
package oip
