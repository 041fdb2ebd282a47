# unrolled on CPUs (docs/install.md#docker):
#   docker build -t unrolled .
#   docker run --rm -it -v "$PWD/outputs:/unrolled/outputs" --user "$(id -u):$(id -g)" unrolled train data=demo
FROM python:3.12-slim

# PyTorch's CPU build first, in a layer of its own: it is most of the image, and seldom changes
RUN python -m pip install --no-cache-dir "torch>=2.11,<2.14" --index-url https://download.pytorch.org/whl/cpu

# then the package, of which the image keeps only what it installs
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE /source/
COPY conf /source/conf
COPY docs /source/docs
COPY src /source/src
RUN python -m pip install --no-cache-dir "/source[sweep]" && rm -r /source

# runs are written to /unrolled/outputs, by whatever user the container has
RUN mkdir -p /unrolled/outputs && chmod -R a+rwx /unrolled
WORKDIR /unrolled
ENV HOME=/unrolled MPLCONFIGDIR=/tmp/matplotlib
ENTRYPOINT ["unrolled"]
CMD ["--help"]
