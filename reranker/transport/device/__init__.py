"""Distances of many queries at once on a GPU, by whichever array library is there: the optional extra `[gpu]`.

Written against the Python array API standard, so that the same code runs on torch (CUDA, CPU), CuPy and NumPy.
"""

from reranker.transport.device.devices import Device, open_device
from reranker.transport.device.embeddings import DeviceEmbeddings
from reranker.transport.device.many import distances_many

__all__ = ["Device", "DeviceEmbeddings", "distances_many", "open_device"]
