#!/usr/bin/env bash
# All that is worth measuring on a GPU, in about half an hour, and one page at its end.
#
#   bash benchmarks/on_gpu.sh DATA OUT
#
# DATA: Multi30k, lowercased and tokenised: {train,val,test_2016_flickr}.{en,de}. OUT: a folder, which gets a log of each part
# and report.md. What is there already is not done again, so the same command continues. DEVICE=cpu SHORT=1 tries the script
# without a GPU: a few updates of everything.
set -u -o pipefail
data=$(realpath "$1") out=$2
device=${DEVICE:-cuda} short=${SHORT:-}
mkdir -p "$out"
out=$(realpath "$out")
cd "$(dirname "$0")/.." || exit 1
if [ "$device" = cuda ]; then
  precisions="fp32 tf32 bf16 fp16" hardware=gpu low=gpu_bf16
else
  precisions="fp32 bf16" hardware=cpu low=cpu_bf16
fi
sizes="256 512" batches="32 64 256" measured=20 updates=300 limit=00:00:10:00
if [ -n "$short" ]; then sizes=tiny batches="4" measured=2 updates=12 limit=00:00:00:20; fi

# part NAME COMMAND...: its output goes to NAME.log; NAME.done says that it ended well
part() {
  local name=$1 start=$SECONDS
  shift
  [ -e "$out/$name.done" ] && return
  echo "$name: $*" >&2
  if "$@" >"$out/$name.log" 2>"$out/$name.err"; then
    echo "$((SECONDS - start))" >"$out/$name.done"
  else
    echo "$name failed: $(tail -1 "$out/$name.err")" >&2
    return 1
  fi
}

# trained NAME OPTIONS...: a training with its validations and its test
trained() {
  python src/train.py experiment=multi30k data.root="$data" cache="$out/cache" logger=csv '~callbacks.pictures' \
    '~callbacks.attention_record' '~callbacks.kept' hydra.run.dir="$out/$1" \
    ${short:+trainer.limit_val_batches=2 trainer.limit_test_batches=2} "${@:2}"
}

# two trainings with the same options, one of which is ended half-way and resumed: are the weights the same bits?
resumed() {
  local options=(model.embedding_size=64 model.encoder_size=64 model.decoder_size=64 trainer.val_check_interval=1.0)
  options+=(trainer.limit_val_batches=2 trainer.limit_test_batches=2 callbacks.saving.steps=$((updates / 4)) "$@")
  trained whole "${options[@]}" trainer.max_steps="$updates" || return 1
  trained halves "${options[@]}" trainer.max_steps=$((updates / 2)) || return 1
  python src/train.py resume="$out/halves" trainer.max_steps="$updates" || return 1
  sha256sum "$out"/{whole,halves}/weights.safetensors | tee "$out/resumed.sums"
}

part machine python -c 'import torch; print(torch.__version__, torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU")'
part agreement python benchmarks/agreement.py --device "$device" ${short:+--size 16 --attention bahdanau gru_att}
for sentences in $batches; do
  # shellcheck disable=SC2086
  part "throughput-$sentences" python benchmarks/train_throughput.py --device "$device" --data-root "$data" --cache "$out/cache" \
    --size $sizes --precision $precisions --attention bahdanau gru_att --sentences "$sentences" --batches "$measured" \
    --contestants ours plain $([ "$sentences" = 64 ] || echo --skip-memory) --output "$out/throughput-$sentences.json"
done
part multi trained multi model=cgru attention=gru_att hardware=$([ "$device" = cuda ] && echo multi_gpu || echo ddp_cpu) \
  trainer.max_steps="$updates" trainer.limit_val_batches=2 trainer.limit_test_batches=2 trainer.val_check_interval=1.0
part resume resumed hardware="$hardware" trainer.deterministic=true
part multi30k trained multi30k model=cgru attention=bahdanau attention.size=128 hardware="$low" trainer.max_time="$limit"

{
  echo "# On $(cat "$out/machine.log")"
  echo
  python benchmarks/one_table.py "$out"/throughput-*.json
  for name in agreement throughput-{32,64,256,4} multi resume multi30k; do
    [ -e "$out/$name.log" ] || continue
    echo
    echo "## $name ($(cat "$out/$name.done" 2>/dev/null || echo "not to its end, or failed: see $name.err; 0") s)"
    echo
    case $name in
      multi | multi30k) grep -E "val/bleu|^(test|val|train|status|steps)" "$out/$name.log" "$out/$name.err" -h | tail -40 ;;
      resume) cut -c 1-16 "$out/resumed.sums" 2>/dev/null | uniq -c ;;
      *) cat "$out/$name.log" ;;
    esac
  done
} >"$out/report.md"
cat "$out/report.md"
