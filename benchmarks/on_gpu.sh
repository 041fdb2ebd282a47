#!/usr/bin/env bash
# All that is worth measuring on a GPU, in about ten minutes, and one page at its end.
#
#   bash benchmarks/on_gpu.sh DATA OUT
#
# DATA: Multi30k, lowercased and tokenised: {train,val,test_2016_flickr}.{en,de}. OUT: a folder, which gets a log of each part
# and report.md. What is there already is not done again, so the same command continues. What is not timed runs first, side by
# side. PARTS="agreement throughput ..." does only these. DEVICE=cpu SHORT=1 tries the script without a GPU: a few updates of
# everything.
set -u -o pipefail
stop() { echo "on_gpu.sh: $1" >&2 && exit 2; }
[ $# = 2 ] || stop "name two folders: bash benchmarks/on_gpu.sh DATA OUT"
for file in {train,val,test_2016_flickr}.{en,de}; do
  [ -r "$1/$file" ] || stop "$1/$file: there is no such file; name the folder of Multi30k, lowercased and tokenised"
done
data=$(realpath "$1") out=$2
device=${DEVICE:-cuda} short=${SHORT:-} parts="machine ${PARTS:-agreement tests multi resume throughput waits multi30k compiled}"
if [ "$device" = cuda ]; then
  python -c 'import torch; raise SystemExit(not torch.cuda.is_available())' \
    || stop "PyTorch finds no GPU here: DEVICE=cpu SHORT=1 before the same command tries the script without one"
fi
mkdir -p "$out" || exit 2
out=$(realpath "$out")
cd "$(dirname "$0")/.." || exit 1
if [ "$device" = cuda ]; then
  precisions="fp32 tf32 bf16 fp16" usual=bf16 low=gpu_bf16 multi=multi_gpu
else
  precisions="fp32 bf16" usual=fp32 low=cpu_bf16 multi=ddp_cpu
fi
sizes="256 512" measured=6 updates=800 watched=1165 limit=${LIMIT:-00:00:05:00}
if [ -n "$short" ]; then sizes=tiny measured=2 updates=12 watched=12 limit=00:00:00:20; fi
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

# part NAME COMMAND...: its output goes to NAME.log; NAME.done says that it ended well
part() {
  local name=$1 start=$SECONDS
  shift
  [[ " $parts " == *" ${name%%-*} "* ]] || return 0
  [ -e "$out/$name.done" ] && return
  echo "$name: $*" >&2
  if "$@" >"$out/$name.log" 2>"$out/$name.err"; then
    echo "$((SECONDS - start))" >"$out/$name.done"
  else
    echo "$name failed: $(tail -1 "$out/$name.err")" >&2
    return 1
  fi
}

of_multi30k=(experiment=multi30k data.root="$data" cache="$out/cache" logger=csv '~callbacks.pictures' '~callbacks.attention_record')
few=(trainer.limit_val_batches=2 trainer.limit_test_batches=2)

# trained NAME OPTIONS...: a training with its validations and its test
trained() {
  python src/train.py "${of_multi30k[@]}" hydra.run.dir="$out/$1" "${@:2}"
}

# two trainings with the same options, one of which is ended half-way and resumed: are the weights the same bits?
resumed() {
  local options=(model.embedding_size=64 model.encoder_size=64 model.decoder_size=64 trainer.val_check_interval=1.0)
  options+=("${few[@]}" callbacks.saving.steps=$((updates / 4)) "$@")
  trained whole "${options[@]}" trainer.max_steps="$updates" &
  trained halves "${options[@]}" trainer.max_steps=$((updates / 2)) || return 1
  python src/train.py resume="$out/halves" trainer.max_steps="$updates" || return 1
  wait %% || return 1
  sha256sum "$out"/{whole,halves}/weights.safetensors | tee "$out/resumed.sums"
}

# the text is prepared and the tokenizer trained once
[ -e "$out/cache" ] || trained prepared "${few[@]}" trainer.accelerator=cpu trainer.max_steps=1 >"$out/prepared.log" 2>&1 ||
  stop "the text cannot be prepared: $(tail -1 "$out/prepared.log")"
part machine python -c 'import torch; print(torch.__version__, torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU")'
part agreement python benchmarks/agreement.py --device "$device" ${short:+--size 16 --attention bahdanau gru_att} &
part tests python -m pytest -q -n 2 tests/models/test_fast_cuda_graphs.py tests/training/callbacks/test_divergence.py &
part multi trained multi model=cgru attention=gru_att hardware=$multi trainer.max_steps=$((updates / 5)) "${few[@]}" &
part resume resumed hardware="$low" trainer.deterministic=true &
wait
# throughput SENTENCES PRECISIONS...
throughput() {
  # shellcheck disable=SC2086
  part "throughput-$1" python benchmarks/train_throughput.py --device "$device" --data-root "$data" --cache "$out/cache" \
    --size $sizes --precision "${@:2}" --attention bahdanau gru_att --sentences "$1" --batches "$measured" \
    --contestants ours without_graphs plain --skip-memory --output "$out/throughput-$1.json"
}
# shellcheck disable=SC2086
throughput 64 $precisions
part waits python benchmarks/waits.py "${of_multi30k[@]}" "${few[@]}" hydra.run.dir="$out/waits" model=cgru attention=bahdanau \
  attention.size=128 hardware="$low" trainer.max_steps="$watched"
part multi30k trained multi30k model=cgru attention=bahdanau attention.size=128 hardware="$low" trainer.max_time="$limit" \
  ${short:+"${few[@]}"}
throughput 256 "$usual"
throughput 32 "$usual"
part compiled python benchmarks/fast_or_compiled.py --device "$device" --attention bahdanau --size 320 --precision bf16 \
  --way fast "without graphs" plain compiled

failed=
{
  echo "# On $(cat "$out/machine.log")"
  echo
  compgen -G "$out/throughput-*.json" >/dev/null && python benchmarks/one_table.py "$out"/throughput-*.json
  for name in agreement tests multi resume throughput-{32,64,256} waits multi30k compiled; do
    [ -e "$out/$name.log" ] || continue
    [ -e "$out/$name.done" ] || failed+=" $name"
    echo
    echo "## $name ($(cat "$out/$name.done" 2>/dev/null || echo "not to its end, or failed: see $name.err; 0") s)"
    echo
    case $name in
      multi | multi30k) grep -E "val/bleu|^(test|val|train|status|steps|peak)" "$out/$name.log" "$out/$name.err" -h | tail -60 ;;
      resume) cut -c 1-16 "$out/resumed.sums" 2>/dev/null | uniq -c ;;
      waits) sed -n '/^waits in/,$p' "$out/waits.log" ;;
      tests) tail -3 "$out/tests.log" ;;
      *) cat "$out/$name.log" ;;
    esac
  done
} >"$out/report.md"
cat "$out/report.md"
[ -z "$failed" ] || { echo "on_gpu.sh: not to their end:$failed; the same command tries them again" >&2 && exit 1; }
