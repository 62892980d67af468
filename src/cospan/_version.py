"""The version, where every module can take it without the package above it."""

VERSION = "0.2.0.dev0"
