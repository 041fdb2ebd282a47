from unrolled.commands.translate import main

if __name__ == "__main__":
    main()
