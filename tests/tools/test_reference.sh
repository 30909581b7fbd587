#!/usr/bin/env bash
# tools/docs generates a site that contains each public function, each chapter and each name of the
# Python module.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
if ! command -v doxygen >/dev/null; then
    echo "doxygen is not installed: skipped"
    exit 77
fi
expect_exit 0 "$source_folder/tools/docs" site
index=$(cat out)
expect_true "the index page is generated" test -s "$index"
html=$(dirname "$index")
for name in $(grep -ohE '\bkd_[a-z0-9_]+\(' "$source_folder"/include/kandela/*.h | tr -d '(' | sort -u); do
    grep -qE "name=\"?|id=\"" "$html"/*_8h.html && grep -qw "$name" "$html"/*_8h.html || expect_fail "$name is documented in HTML"
    test -e "site/man/man3/$name.3" || expect_fail "$name has a man page"
done
for page in site/man/man3/*; do
    [[ ${page##*/} =~ ^(kd_|KD_|KANDELA_|kandela_) ]] || expect_fail "man page ${page##*/} has a prefix of Kandela"
    to=$(sed -n 's/^\.so //p' "$page")
    [[ -z $to || -s site/man/$to ]] || expect_fail "${page##*/} refers to an existing page: $to"
done
for chapter in "$source_folder"/docs/book/[0-9]*.md; do
    expect_true "${chapter##*/} has an HTML page" test -s "$html/book_$(basename "$chapter" | cut -d- -f1).html"
done
for name in KDTree TriangleMesh load_scene knn_graph chamfer_distance RayMeshIntersector; do
    grep -q "$name" "$html"/python_*.html || expect_fail "$name is documented"
done
expect_true "sections of docstrings have titles and lists" grep -qzE '<b>Parameters</b>.{0,200}<li><code>x</code>' "$html/python_points.html"
expect_true "the pages load no files from other sites" test -z "$(grep -hoE '(src|href)="(https?:)?//[^"]*\.(js|css|woff2?|png|svg)"' "$html"/*.html)"
expect_true "the pages contain no path of this machine" test -z "$(grep -rl "$scratch" "$html" --include=*.html site/man)"
expect_true "the pages have a viewport for small screens" grep -q 'name="viewport"' "$index"
expect_done
