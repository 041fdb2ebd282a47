"""The equations, in torch only: cells, encoder, attention, decoders, readouts, and the models built from them."""
