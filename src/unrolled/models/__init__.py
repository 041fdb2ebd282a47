"""The equations, in torch alone: cells, encoder, attention, decoders, readouts, and the models made of them."""
