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
expect_true "the first page is there" test -s "$index"
html=$(dirname "$index")
for name in $(grep -ohE '\bkd_[a-z0-9_]+\(' "$source_folder"/include/kandela/*.h | tr -d '(' | sort -u); do
    grep -qE "name=\"?|id=\"" "$html"/*_8h.html && grep -qw "$name" "$html"/*_8h.html || expect_fail "$name has a place"
    test -e "site/man/man3/$name.3" || expect_fail "$name has a page for man"
done
for page in site/man/man3/*; do
    [[ ${page##*/} =~ ^(kd_|KD_|KANDELA_|kandela_) ]] || expect_fail "${page##*/} is a name of Kandela's"
    to=$(sed -n 's/^\.so //p' "$page")
    [[ -z $to || -s site/man/$to ]] || expect_fail "${page##*/} leads to $to"
done
for chapter in "$source_folder"/docs/book/[0-9]*.md; do
    expect_true "${chapter##*/} is a page" test -s "$html/book_$(basename "$chapter" | cut -c1).html"
done
for name in KDTree TriangleMesh load_scene knn_graph chamfer_distance RayMeshIntersector; do
    grep -q "$name" "$html"/python_*.html || expect_fail "$name is told of"
done
expect_true "a docstring's sections have titles and lists" grep -qzE '<b>Parameters</b>.{0,200}<li><code>x</code>' "$html/python_points.html"
expect_true "nothing is loaded from elsewhere" test -z "$(grep -hoE '(src|href)="(https?:)?//[^"]*\.(js|css|woff2?|png|svg)"' "$html"/*.html)"
expect_true "nobody's folders are named" test -z "$(grep -rl "$scratch" "$html" --include=*.html site/man)"
expect_true "phones are thought of" grep -q 'name="viewport"' "$index"
expect_done
