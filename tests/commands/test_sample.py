"""sample.py as a user runs it."""

from support.scripts import call_script


def test_a_language_model_is_sampled_from(language_model, tmp_path):
    options = [f"run={language_model}", "number=7", "max_length=5", "batch=3"]
    done = call_script("sample.py", *options, cwd=tmp_path)
    assert len(done.stdout.splitlines()) == 7
    again = call_script("sample.py", *options, cwd=tmp_path)
    assert again.stdout == done.stdout


def test_a_search_that_does_not_draw_is_refused(language_model, tmp_path):
    done = call_script("sample.py", f"run={language_model}", "search=beam", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "search=sampling" in done.stderr


def test_options_of_sentence_pairs_are_refused(language_model, tmp_path):
    done = call_script("sample.py", f"run={language_model}", "search.max_length_ratio=1", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "search.max_length_ratio=1: nothing is translated, and max_length=... is the limit; omit it" in done.stderr


def test_a_wrong_batch_is_named_as_it_was_given_and_max_tokens_is_unknown(language_model, tmp_path):
    for option, said in (("batch=0", "batch=0: give a whole number"), ("max_tokens=5", "there is no such option")):
        done = call_script("sample.py", f"run={language_model}", option, cwd=tmp_path)
        assert (done.status, done.stdout) == (2, "")
        assert done.stderr.startswith(f"sample.py: {option.split('=')[0]}")
        assert said in done.stderr


def test_several_models_are_sampled_from_as_a_mixture(language_model, tmp_path):
    run = f"run=[{language_model},{language_model}]"
    options = ["number=4", "max_length=5"]
    alone = call_script("sample.py", f"run={language_model}", *options, cwd=tmp_path)
    done = call_script("sample.py", run, *options, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert "give mixture=..., 2 weights, or one run" in done.stderr
    assert call_script("sample.py", run, "mixture=[0.3,0.7]", *options, cwd=tmp_path).stdout == alone.stdout
